#include "runtime/cuda/plain_library.h"

#include "runtime/steps/empty_step.h"
#include "runtime/steps/step_operands.h"
#include "runtime/cuda/joined_convolution.h"
#include "runtime/cuda/gpu_models.h"
#include "runtime/cuda/own_operations.h"
#include "runtime/cuda/planned_device.h"

namespace sheaf::cuda {

Result<Prepared> PlainLibrary::prepare(const PrepareRequest& request) {
  try {
    if (has_nothing_to_do(request)) return prepare_nothing(request, true);
    if (const PrepareOwn own = find_own_operation(request.step.op))
      return own(request, nullptr, properties_of(gpu_models().front()));
    const StepOperands operands(request);
    if (is_joined(operands))
      return Error("nobody knows which convolutions cuDNN would join with batch norms: this build has no CUDA backend");
    Prepared prepared = operands.prepared();
    prepared.implementation = "library";
    prepared.reason = "cuDNN's or cuBLASLt's, of which this build knows nothing";
    prepared.uncertain = "its library's workspaces and layouts are left out: this build has no CUDA backend";
    return prepared;
  } catch (const OperationError& error) {
    return Error(error.what());
  }
}

#ifndef SHEAF_CUDA_BACKEND
const PlanningLibrary& planning_library(const GpuModel&) {
  static const PlanningLibrary plain = {std::make_shared<PlainLibrary>(), true, "this build has no CUDA backend"};
  return plain;
}
#endif

}  // namespace sheaf::cuda
