// The project's own operations.
#include "runtime/cuda/own_operations.h"
#include "runtime/ops/pooling.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

Result<Prepared> prepare_pooling(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                                 const DeviceProperties& gpu) {
  return prepare_own_pooling(request, kernels,
                             takes_maximum(request.step.op)
                                 ? "cuDNN leaves open which of equal maxima has the gradient, and knows no dilation"
                                 : "cuDNN's windows are all alike, and divide by their size or by what is in them alone");
}
Result<Prepared> prepare_reorder(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                                 const DeviceProperties& gpu) {
  require(request.inputs.size() == 1 && request.outputs.size() == 1, "a reorder has one input and one output");
  const TensorSpec &from = request.inputs[0], &to = request.outputs[0];
  if (!request.numbers.empty()) return prepare_own_numbers(from, to, request.numbers, kernels);
  if (from.dtype != to.dtype && from.dims == to.dims && same_format(from, to)) return prepare_own_conversion(from, to, kernels);
  return prepare_own_reorder(from, to, kernels);
}
Result<Prepared> prepare_reduce(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                                const DeviceProperties& gpu) {
  return prepare_own_reduce(request, kernels);
}
Result<Prepared> prepare_check_finite(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                                      const DeviceProperties& gpu) {
  return prepare_own_check_finite(request, kernels);
}

Result<Prepared> prepare_batch_norm(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                                    const DeviceProperties& gpu) {
  return prepare_own_batch_norm(request, kernels, gpu);
}

Result<Prepared> prepare_nonfinite(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                                   const DeviceProperties& gpu) {
  return prepare_own_nonfinite(request, kernels, gpu);
}

struct Entry {
  Op op;
  PrepareOwn prepare;
};

constexpr Entry operations[] = {
    {Op::reorder, prepare_reorder},
    {Op::reduce, prepare_reduce},
    {Op::check_finite, prepare_check_finite},
    {Op::nonfinite, prepare_nonfinite},
    {Op::batch_norm_train, prepare_batch_norm},
    {Op::batch_norm_backward, prepare_batch_norm},
};

class Nothing final : public Operation {
 public:
  Result<void> enqueue(const Enqueue&) override { return {}; }
  bool guardable() const override { return true; }
};

}  // namespace

PrepareOwn find_own_operation(Op op) {
  const auto pools = poolings();
  if (std::any_of(pools.begin(), pools.end(), [&](const OpTraits& row) { return row.op == op; })) return prepare_pooling;
  const auto found =
      std::find_if(std::begin(operations), std::end(operations), [&](const Entry& known) { return known.op == op; });
  return found == std::end(operations) ? nullptr : found->prepare;
}

Result<void> supports_gpu_op(Op op, DType dtype) {
  if (!find_own_operation(op) && !is_library(op)) return Error("the CUDA backend has no library operation of this name");
  if (kernel_suffix(dtype).empty()) return Error("it computes on floating-point numbers alone");
  const auto recurrent = recurrent_ops();
  const bool layer = std::any_of(recurrent.begin(), recurrent.end(), [&](const OpTraits& row) { return row.op == op; });
  if (layer && dtype != DType::float32) return Error("it computes in float32 alone on GPUs");
  return {};
}

Prepared prepare_nothing(const PrepareRequest& request, bool planned) {
  Prepared prepared = StepOperands(request).prepared();
  if (!planned) prepared.executable = std::make_unique<Nothing>();
  prepared.implementation = "empty";
  prepared.reason = "its results have no elements: there is nothing to compute";
  return prepared;
}

}  // namespace sheaf::cuda
