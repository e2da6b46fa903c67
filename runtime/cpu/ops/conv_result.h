// What is made of the other two tensors of a convolution.
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

enum class ConvResult { y, dx, dweight };

/// The role of the activations that are read first: x, or dy for dx.
inline const char* source_role(ConvResult result) { return result == ConvResult::dx ? "dy" : "x"; }

}  // namespace sheaf
