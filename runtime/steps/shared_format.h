// The layout in which a kernel over elements works.
#pragma once

#include "runtime/device/operation.h"

#include <string>

namespace sheaf {

/// A backend's: the spec of a tensor of `dtype` whose elements lie as those of `tensor`; plain if there is no such format.
using SameLayout = TensorSpec (*)(const TensorSpec& tensor, DType dtype);

/// For a kernel over elements without broadcasting: the operand of `request` whose format all can have, being the one that most
/// of its inputs have. Which is so where they have the same dims and the format has no padding, so that its bytes are the
/// elements. Dtypes may differ: what counts is where each element lies. Scalars (a learning rate) don't count. Null: all are
/// plain.
const TensorSpec* shared_format(const PrepareRequest& request, SameLayout same_layout);

/// Fills in prepared.inputs and outputs: each operand of more than one element in the format of `format`, if it has one.
void adopt_format(Prepared& prepared, const PrepareRequest& request, const TensorSpec* format, SameLayout same_layout);

/// Why a generated kernel's operands lie as they do, for explain.
std::string reason_for_layout(const Kernel& kernel, const TensorSpec* format);

}  // namespace sheaf
