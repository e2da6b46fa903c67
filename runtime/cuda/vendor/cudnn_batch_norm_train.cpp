// Batch norm with its own batch's statistics, ReLU with it.
#include "runtime/cuda/vendor/cudnn_batch_norm.h"

namespace sheaf::cuda {
namespace {

bool train_by_library(CudnnBuilder& builder, const BatchNorm& norm) {
  const DType dtype = builder.operands.dtype();
  Placed placed;
  const auto x = placed.tensor(norm, dtype, builder.input("x"));
  const auto scale = placed.statistic(norm, {}), shift = placed.statistic(norm, {});
  const auto results = placed.graph.batch_norm_train(x, scale, shift, norm.eps);
  auto y = results.y;
  if (builder.operands.has("residual"))
    y = placed.graph.pointwise(Pointwise::add, y, placed.tensor(norm, dtype, builder.input("residual")));
  if (norm.relu) y = placed.graph.pointwise(Pointwise::relu, y);
  if (builder.operands.request.outputs.size() == 4) {
    const auto passes = placed.graph.pointwise(Pointwise::greater, y, placed.graph.constant(0));
    placed.graph.output_bits(passes, channels_last_strides(norm.dims));
    placed.places.emplace_back(passes, builder.output(3));
  }
  placed.graph.output(y, dtype, channels_last_strides(norm.dims));
  const auto plan = builder.plan(placed.graph, builder.choice());
  if (!plan) {
    builder.because("cuDNN has no engine (" + gist_of(plan.error()) + ")");
    return false;
  }
  const MemoryRef inverse = builder.scratch(channel_bytes(norm));
  placed.places[1].second = affine(builder, norm, "weight", 1);
  placed.places[2].second = affine(builder, norm, "bias", 0);
  placed.places.insert(placed.places.end(),
                       {{y, builder.output()}, {results.mean, builder.output(1)}, {results.inverse, inverse}});
  builder.add(*plan, placed.graph, placed.places);
  if (OwnKernels* kernels = builder.kernels())
    builder.add(variance_of_inverse_call(*kernels, builder.output(2), inverse, norm.count(), norm.eps));
  return true;
}

}  // namespace

Result<Prepared> prepare_batch_norm_train(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  const BatchNorm norm = batch_norm_of(operands);
  require(operands.has("bias") == norm.affine, "weight and bias should be given together");
  if (norm.affine) require_channels(operands.wide_operand("bias").dims, norm.count(), "bias");
  const bool masked = request.outputs.size() == 4, residual = operands.has("residual");
  require(masked ? norm.relu : request.outputs.size() == 3, "expected 3 outputs, with ReLU 3 or 4");
  require(!residual || (norm.relu && operands.operand("residual").dims == norm.x->dims),
          "a residual goes with ReLU, and has x's shape");
  require(operands.output().dims == norm.x->dims, "output 0 should have x's shape");
  require_channels(operands.wide_output(1).dims, norm.count(), "output 1, the mean,");
  require_channels(operands.wide_output(2).dims, norm.count(), "output 2, the variance,");

  CudnnBuilder builder(operands, context);
  builder.prepared.inputs[size_t(operands.find("x"))] = builder.prepared.outputs[0] = norm.placed(operands.dtype());
  if (residual) builder.prepared.inputs[size_t(operands.find("residual"))] = norm.placed(operands.dtype());
  const char* why = unfit(norm, operands.dtype());
  if (why) builder.because(why);
  const bool library = !why && train_by_library(builder, norm);
  if (library) {
    builder.because(norm.relu ? std::string("normalisation, ") + (residual ? "addition, " : "") + "ReLU (which keeps NaN)" +
                                    (masked ? " and its mask" : "") + " in one graph, channels last"
                              : "channels last, as x is");
  } else {
    builder.because("the project's own kernels, in x's format");
    BatchNormCall call = own_call(builder, norm);
    call.bias = builder.input("bias");
    call.y = builder.output();
    call.mean = builder.output(1);
    call.var = builder.output(2);
    call.relu = norm.relu;
    call.residual = builder.input("residual");
    if (masked) call.mask = builder.output(3);
    std::vector<KernelCall> calls;
    add_batch_norm_train(calls, builder.kernels(), call, builder.prepared.scratch_bytes);
    for (KernelCall& call : calls) builder.add(std::move(call));
  }
  if (masked) {
    const TensorSpec& wanted = request.outputs[3];
    require(wanted.dtype == DType::uint8 && wanted.dims == Dims{1}, "output 3, the workspace, should be uint8 of shape [1]");
    // One bit an element, in cuDNN's too: its booleans are packed, eight in a byte (the reference of cudnnDataType_t).
    const size_t bytes = mask_bytes(norm.dims);
    builder.prepared.outputs[3].bytes = bytes;
    builder.prepared.outputs[3].format = std::make_shared<NormWorkspace>(library, norm.channels_last, bytes);
  }
  return builder.take();
}

}  // namespace sheaf::cuda
