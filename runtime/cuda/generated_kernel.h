// Generated kernels on a GPU: loading a plan's PTX and launching its functions.
#pragma once

#include "runtime/cuda/operation.h"
#include "runtime/cuda/queue_kernels.h"

#include <map>
#include <memory>
#include <span>
#include <string>

namespace sheaf::cuda {

/// Loads the plan's PTX, which the driver compiles for `device`. A plan without kernels needs none. Errors: it is missing, the
/// driver refuses it, it lacks a kernel that is described as having a form for GPUs.
Result<std::shared_ptr<const Kernels>> load_generated_kernels(const std::shared_ptr<BackendState>& state, int device,
                                                              const Plan& plan);

/// Binds a step of op `kernel` (runtime/steps/kernel_step.h). `queue_kernels`: for those that report a lookup; null if a
/// binding is only planned.
Result<Prepared> prepare_generated_kernel(const PrepareRequest& request, const std::shared_ptr<BackendState>& state, int device,
                                          const std::shared_ptr<const QueueKernels>& queue_kernels);

/// Blocks of a launch over `work` items, `items` of them per block at a time: no more than keep the device busy, since blocks
/// step on.
unsigned blocks_for(int64_t work, int items, int threads, int multiprocessors);

}  // namespace sheaf::cuda
