// Which of a convolution's tensors is made from the other two.
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

enum class ConvResult { y, dx, dweight };

/// The role of the activations that are read first: x, or dy for dx.
inline const char* source_role(ConvResult result) { return result == ConvResult::dx ? "dy" : "x"; }

}  // namespace sheaf
