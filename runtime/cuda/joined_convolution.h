// Convolutions that do part of the batch norms around them (runtime/bind/join_convolutions.h), as GPUs' libraries see them.
#pragma once

#include "runtime/steps/step_operands.h"

namespace sheaf::cuda {

/// Whether a convolution, or a gradient of one, is joined with batch norms.
inline bool is_joined(const StepOperands& operands) {
  return operands.has("x_factors") || operands.has("moments") || operands.request.step.attributes.contains("statistics");
}

}  // namespace sheaf::cuda
