// Which of a convolution's tensors is made from the other two.
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

enum class ConvResult { y, dx, dweight };

/// The role of the activations that are read first: x, or dy for dx, which a transposed convolution (mirrored_conv_shape()) calls x.
inline const char* source_role(const Operation& operation, ConvResult result) {
  return result == ConvResult::dx && operation.has("dy") ? "dy" : "x";
}

}  // namespace sheaf
