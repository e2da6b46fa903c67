#include "runtime/cuda/vendor/cudnn_batch_norm.h"

namespace sheaf::cuda {

void require_channels(const Dims& dims, int64_t count, const char* name) {
  require(dims == Dims{count}, std::string(name) + " should have shape " + to_string(Dims{count}));
}

BatchNorm batch_norm_of(const StepOperands& operands) {
  BatchNorm norm;
  norm.x = &operands.operand("x");
  norm.dims = norm.x->dims;
  require(norm.dims.size() >= 2 && norm.dims.size() <= 5,
          "x has shape " + to_string(norm.dims) + ", expected [N, C, …] with up to 3 more dims");
  const int64_t positions = product(norm.dims, 2, norm.dims.size());
  require(norm.dims[0] * positions != 1,
          "expected more than 1 value per channel when training, got input size " + to_string(norm.dims));
  const auto& attributes = operands.request.step.attributes;
  const auto eps = attributes.find("eps");
  require(eps != attributes.end() && eps->is_number() && eps->get<double>() >= 0,
          "attribute 'eps' should be a number, at least 0");
  norm.eps = float(eps->get<double>());
  norm.affine = operands.has("weight");
  if (norm.affine) require_channels(operands.wide_operand("weight").dims, norm.count(), "weight");
  if (const auto activation = kernel_activation_of(operands.request.step)) {
    require(activation->kind == KernelActivation::relu && activation->alpha == 0, "only relu goes with batch norm");
    norm.relu = true;
  }
  norm.channels_last = is_channels_last(*norm.x) || positions == 1;
  while (norm.dims.size() < 4) norm.dims.push_back(1);
  norm.channels.assign(norm.dims.size(), 1);
  norm.channels[1] = norm.count();
  return norm;
}

const char* unfit(const BatchNorm& norm, DType dtype) {
  if (!norm.channels_last) return "x is plain, which cuDNN's batch norm would reorder";
  const int64_t vector = 16 / int64_t(size_of(dtype));
  if (norm.count() % vector != 0)
    return dtype == DType::float32 ? "cuDNN's batch norm wants a multiple of 4 channels in f32"
                                   : "cuDNN's batch norm wants a multiple of 8 channels in bf16 and f16";
  if (product(norm.dims, 0, norm.dims.size()) == 0) return "there are no rows";
  return nullptr;
}

MemoryRef affine(CudnnBuilder& builder, const BatchNorm& norm, const char* role, float otherwise) {
  if (norm.affine) return builder.input(role);
  const MemoryRef made = builder.scratch(channel_bytes(norm));
  OwnKernels* kernels = builder.kernels();
  if (kernels) builder.add(set_channels_call(*kernels, made, norm.count(), otherwise));
  return made;
}

BatchNormCall own_call(const CudnnBuilder& builder, const BatchNorm& norm) {
  BatchNormCall call;
  call.dtype = builder.operands.dtype();
  call.dims = norm.x->dims;
  call.channels_last = norm.channels_last;
  call.eps = norm.eps;
  call.x = builder.input("x");
  call.weight = builder.input("weight");
  return call;
}

}  // namespace sheaf::cuda
