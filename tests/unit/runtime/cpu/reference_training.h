// The steps of a training pass as plain loops in double precision, written from the forward steps'
// definitions.
#pragma once

#include "tests/unit/runtime/cpu/step_runner.h"

namespace sheaf::test {

/// The outputs of a step of docs/training.md, without workspaces. Gradients have the shapes of `step.outputs`. If a gradient
/// depends on more than its operands, that is given too: `x` of max_pool_backward, `y` of batch_norm_backward with an
/// activation.
std::vector<Tensor> reference_training(const StepCase& step);

}  // namespace sheaf::test
