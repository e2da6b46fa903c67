// The gradient of batch norm, ReLU's with it.
#include "runtime/cuda/vendor/cudnn_batch_norm.h"

namespace sheaf::cuda {
namespace {

/// `branch`: where ReLU's gradient is wanted, none if it isn't.
bool backward_by_library(CudnnBuilder& builder, const BatchNorm& norm, MemoryRef branch, bool required) {
  const DType dtype = builder.operands.dtype();
  Placed placed;
  const auto dy = placed.tensor(norm, dtype, builder.input("dy")), x = placed.tensor(norm, dtype, builder.input("x"));
  const auto scale = placed.statistic(norm, {}), mean = placed.statistic(norm, builder.input("mean")),
             inverse = placed.statistic(norm, {});
  auto gradient = dy;
  if (norm.relu) {
    const auto passes = placed.tensor(norm, DType::uint8, builder.input("workspace"));
    placed.graph.output_bits(passes, channels_last_strides(norm.dims));
    gradient = placed.graph.pointwise(Pointwise::multiply, dy, passes);
    // The engine wants it in a buffer, as if another branch needed it.
    placed.graph.output(gradient, dtype, channels_last_strides(norm.dims));
  }
  const auto results = placed.graph.batch_norm_backward(gradient, x, scale, mean, inverse);
  placed.graph.output(results.dx, dtype, channels_last_strides(norm.dims));
  const auto plan = builder.plan(placed.graph, builder.choice());
  if (!plan) {
    require(!required, "cuDNN has no engine for the gradient of its own batch norm: " + gist_of(plan.error()));
    builder.because("cuDNN has no engine (" + gist_of(plan.error()) + ")");
    return false;
  }
  placed.places[2].second = affine(builder, norm, "weight", 1);
  placed.places[4].second = builder.scratch(channel_bytes(norm));
  if (OwnKernels* kernels = builder.kernels())
    builder.add(inverse_of_variance_call(*kernels, placed.places[4].second, builder.input("var"), norm.count(), norm.eps));
  if (norm.relu) placed.places.emplace_back(gradient, branch.buffer >= 0 ? branch : builder.scratch(norm.placed(dtype).bytes));
  const auto sums = [&](size_t index) { return norm.affine ? builder.output(index) : builder.scratch(channel_bytes(norm)); };
  placed.places.insert(placed.places.end(),
                       {{results.dx, builder.output()}, {results.dscale, sums(1)}, {results.dshift, sums(2)}});
  builder.add(*plan, placed.graph, placed.places);
  return true;
}

}  // namespace

Result<Prepared> prepare_batch_norm_backward(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  BatchNorm norm = batch_norm_of(operands);
  require(operands.has("workspace") == norm.relu, "a workspace goes with relu");
  require_channels(operands.wide_operand("mean").dims, norm.count(), "mean");
  require_channels(operands.wide_operand("var").dims, norm.count(), "var");
  const size_t outputs = norm.affine ? 3 : 1;
  const bool branches = norm.relu && request.outputs.size() == outputs + 1;  // ReLU's gradient is wanted too
  require(branches || request.outputs.size() == outputs, "expected " + std::to_string(outputs) + " outputs");
  if (branches)
    require(operands.output(outputs).dims == norm.x->dims, "ReLU's gradient should have x's shape " + to_string(norm.x->dims));
  require(operands.operand("dy").dims == norm.x->dims && operands.output().dims == norm.x->dims,
          "dy and output 0 should have x's shape " + to_string(norm.x->dims));
  for (size_t i = 1; i < outputs; ++i)
    require_channels(operands.wide_output(i).dims, norm.count(), i == 1 ? "dweight" : "dbias");

  CudnnBuilder builder(operands, context);
  const char* why = unfit(norm, operands.dtype());
  bool library = !why, required = false;
  if (norm.relu) {
    const size_t index = size_t(operands.find("workspace"));
    const auto* made = dynamic_cast<const NormWorkspace*>(request.inputs[index].format.get());
    require(made, "operand 'workspace' is not one that batch_norm_train made");
    builder.prepared.inputs[index] = request.inputs[index];
    norm.channels_last = made->channels_last();
    library = required = made->library();
    if (!library) why = "as the forward pass";
  }
  for (const char* role : {"x", "dy"}) builder.prepared.inputs[size_t(operands.find(role))] = norm.placed(operands.dtype());
  builder.prepared.outputs[0] = norm.placed(operands.dtype());
  if (branches) builder.prepared.outputs[outputs] = norm.placed(operands.dtype());
  const MemoryRef gradient = branches ? builder.output(outputs) : MemoryRef{};
  if (!library) builder.because(why);
  if (library && backward_by_library(builder, norm, gradient, required)) {
    builder.because(norm.relu ? "ReLU's gradient in the same graph, in the forward pass's format" : "channels last, as x is");
    return builder.take();
  }
  builder.because("the project's own kernels");
  if (!branches) builder.prepared.in_place.push_back({operands.find("dy"), 0});
  BatchNormCall call = own_call(builder, norm);
  call.dy = builder.input("dy");
  call.dx = builder.output();
  call.mean = builder.input("mean");
  call.var = builder.input("var");
  if (norm.relu) call.mask = builder.input("workspace");
  call.gradient = gradient;
  call.dweight = norm.affine ? builder.output(1) : builder.scratch(channel_bytes(norm));
  call.dbias = norm.affine ? builder.output(2) : builder.scratch(channel_bytes(norm));
  std::vector<KernelCall> calls;
  add_batch_norm_backward(calls, builder.kernels(), call, builder.prepared.scratch_bytes);
  for (KernelCall& call : calls) builder.add(std::move(call));
  return builder.take();
}

}  // namespace sheaf::cuda
