// Generated kernels on the CPU: loading a plan's objects and running their functions.
#pragma once

#include "runtime/device/operation.h"
#include "runtime/device/device.h"

#include <memory>

namespace sheaf {

/// Loads the plan's best object that this CPU can run, through a memory file: nothing is left on disk, and no LLVM
/// is needed. Every kernel of the plan must be in it. A plan without kernels needs no object. Errors: arithmetic
/// that this CPU lacks (Plan::precision), no object for its instruction-set level, an object that the loader
/// refuses, a symbol missing.
Result<std::shared_ptr<const Kernels>> load_cpu_kernels(const Plan& plan);

/// Binds a step of op `kernel` (runtime/steps/kernel_step.h). A further attribute: `grain`, the least work per thread.
Result<Prepared> prepare_cpu_kernel(const PrepareRequest& request);

}  // namespace sheaf
