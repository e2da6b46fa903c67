// The layout that a kernel over elements uses.
#pragma once

#include "runtime/device/operation.h"

#include <string>

namespace sheaf {

/// The backend's function: the spec of a tensor of `dtype` with the element layout of `tensor`; plain if no format does that.
using SameLayout = TensorSpec (*)(const TensorSpec& tensor, DType dtype);

/// For a kernel over elements without broadcasting: the operand of `request` whose format all operands can have, preferring the
/// format of most inputs. That requires equal dims and a format without padding, so that its bytes are the
/// elements. Dtypes may differ: only the position of each element counts. Scalars (a learning rate) are ignored. Null: all are
/// plain.
const TensorSpec* shared_format(const PrepareRequest& request, SameLayout same_layout);

/// Fills in prepared.inputs and outputs: each operand of more than one element in the format of `format`, if it has one.
void adopt_format(Prepared& prepared, const PrepareRequest& request, const TensorSpec* format, SameLayout same_layout);

/// Why a generated kernel's operands have their layout, for explain.
std::string reason_for_layout(const Kernel& kernel, const TensorSpec* format);

}  // namespace sheaf
