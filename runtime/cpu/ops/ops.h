// The CPU's library operations: steps whose work oneDNN does (docs/steps.md lists them).
#pragma once

#include "runtime/device/operation.h"

namespace sheaf {

/// As Device::supports().
Result<void> supports_cpu_library_op(Op op, DType dtype);

/// Binds the library operation `request.step.op`, those of a training step (docs/training.md) too, in f32
/// or, all but the recurrent ones, in bf16 with f32 sums. Shapes or attributes that contradict each other, and anything
/// that oneDNN refuses, are errors.
///
/// The executable sets its thread's OpenMP thread count to `request.threads` on each run. Equal inputs give
/// equal bits for equal `threads`, wherever it runs.
Result<Prepared> prepare_cpu_library_op(const PrepareRequest& request);

/// Binds a change of format between two specs of equal dtype (f32, or any if both are plain) and dims: one
/// input, one output. Padding in the output is zeroed.
Result<Prepared> prepare_cpu_reorder(const TensorSpec& from, const TensorSpec& to, int threads);

}  // namespace sheaf
