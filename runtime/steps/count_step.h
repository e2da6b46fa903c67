// `nonfinite`, for all backends.
#pragma once

#include "runtime/steps/step_operands.h"

namespace sheaf {

/// Throws OperationError unless the operation counts tensors of float32, bfloat16 or float16, one or more, into one float32.
void require_counted(const StepOperands& operation);

}  // namespace sheaf
