// Convolution with bias, residual and activation, and transposed convolution.
#include "runtime/cuda/vendor/cudnn_conv.h"

#include "runtime/cuda/channel_sums.h"
#include "runtime/cuda/format.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

Dims lifted(Dims dims, size_t at, int64_t value) {
  dims.insert(dims.begin() + int64_t(at), value);
  return dims;
}

/// The activation as a node of a graph; none if cuDNN has no such node.
std::optional<std::pair<Pointwise, float>> pointwise_of(const KernelActivation& activation) {
  switch (activation.kind) {
    case KernelActivation::relu: return {{Pointwise::relu, activation.alpha}};
    case KernelActivation::elu: return {{Pointwise::elu, activation.alpha}};
    case KernelActivation::silu: return {{Pointwise::silu, 0.F}};
    case KernelActivation::gelu: return {{Pointwise::gelu, 0.F}};
    case KernelActivation::gelu_tanh: return {{Pointwise::gelu_tanh, 0.F}};
    case KernelActivation::tanh: return {{Pointwise::tanh, 0.F}};
    case KernelActivation::sigmoid: return {{Pointwise::sigmoid, 0.F}};
    default: return std::nullopt;
  }
}

/// What follows a convolution within its step.
struct Behind {
  MemoryRef bias, residual;
  std::optional<KernelActivation> activation;

  bool any() const { return bias.buffer >= 0 || residual.buffer >= 0 || activation; }
  std::string names() const {
    std::string names;
    const auto add = [&](bool there, const std::string& name) {
      if (there) names += (names.empty() ? "" : ", ") + name;
    };
    add(bias.buffer >= 0, "bias");
    add(residual.buffer >= 0, "residual");
    if (activation) add(true, activation->name);
    return names;
  }
};

/// Engines that are asked for a convolution with everything that follows it.
struct Attempt {
  bool narrow_bias = false;  ///< rounded to the type of y
  bool compiled = false;     ///< including those whose kernels are compiled when the plan is made
};

/// The convolution and everything that follows it as one graph. Error: cuDNN has no engine for that.
Result<void> add_in_one(CudnnBuilder& builder, const CudnnConv& conv, const Behind& behind, const Attempt& attempt) {
  const DType dtype = builder.operands.dtype();
  CudnnGraph graph;
  std::vector<std::pair<CudnnGraph::Id, MemoryRef>> places;
  const auto operand = [&](DType type, const Dims& dims, MemoryRef place) {
    places.emplace_back(graph.tensor(type, dims, conv.strides(dims)), place);
    return places.back().first;
  };
  const auto x = operand(dtype, conv.x, builder.input("x")), weight = operand(dtype, conv.weight, builder.input("weight"));
  auto y = graph.conv_forward(x, weight, conv.window, conv.y);
  bool biased = false;
  if (behind.bias.buffer >= 0) {
    Dims channels(conv.y.size(), 1);
    channels[1] = conv.y[1];
    biased = true;
    y = graph.pointwise(Pointwise::add, y, operand(attempt.narrow_bias ? dtype : DType::float32, channels, behind.bias));
  }
  if (behind.residual.buffer >= 0) y = graph.pointwise(Pointwise::add, y, operand(dtype, conv.y, behind.residual));
  if (behind.activation) {
    const auto function = pointwise_of(*behind.activation);
    if (!function) return Error("cuDNN's graphs have no " + behind.activation->name);
    y = graph.pointwise(function->first, y, -1, function->second);
  }
  graph.output(y, dtype, conv.strides(conv.y));
  places.emplace_back(y, builder.output());

  EngineChoice choice = builder.choice();
  choice.compiled = attempt.compiled;
  SHEAF_ASSIGN(const auto plan, builder.plan(graph, choice));
  if (biased && attempt.narrow_bias)
    builder.prepared.inputs[size_t(builder.operands.find("bias"))] = plain_tensor(dtype, {conv.y[1]});
  builder.add(plan, graph, places);
  builder.because("with " + behind.names() + " in one graph" +
                  (attempt.narrow_bias ? ", the bias rounded to " + std::string(name_of(dtype)) : ""));
  return {};
}

/// The same with any available engine; false, with the reason, if there is none.
bool add_in_one(CudnnBuilder& builder, const CudnnConv& conv, const Behind& behind) {
  std::vector<Attempt> attempts;
  // cuDNN's ready-made engines want one type throughout. In strict f32 the engines compiled for any graph do without tensor
  // cores, and so without their tuning.
  if (behind.bias.buffer >= 0 && builder.operands.dtype() != DType::float32) attempts.push_back({.narrow_bias = true});
  attempts.push_back({.compiled = conv.channels_last});
  std::string why;
  for (const Attempt& attempt : attempts) {
    const auto added = add_in_one(builder, conv, behind, attempt);
    if (added) return true;
    why = gist_of(added.error());
  }
  builder.because(behind.names() + " by the project's own kernel: cuDNN has no engine for all in one (" + why + ")");
  return false;
}

Behind behind_of(const CudnnBuilder& builder) {
  return {builder.input("bias"), builder.input("residual"), kernel_activation_of(builder.operands.request.step)};
}

}  // namespace

Dims CudnnConv::strides(const Dims& dims) const {
  return channels_last ? channels_last_strides(dims) : strides_of(plain_tensor(DType::float32, dims));
}

TensorSpec CudnnConv::placed(const TensorSpec& tensor) const {
  TensorSpec plain = plain_tensor(tensor.dtype, tensor.dims);
  return channels_last ? cuda::channels_last(std::move(plain)) : plain;
}

CudnnConv cudnn_conv_of(const StepOperands& operands, const ConvShape& shape, Dims weight) {
  CudnnConv conv{shape.x,
                 std::move(weight),
                 shape.y,
                 {shape.padding_begin, shape.padding_end, shape.stride, shape.dilation},
                 operands.dtype() != DType::float32 || operands.request.fast_numerics};
  if (conv.x.size() == 3) {
    for (Dims* dims : {&conv.x, &conv.weight, &conv.y}) *dims = lifted(*dims, 2, 1);
    for (Dims* padding : {&conv.window.padding_begin, &conv.window.padding_end}) *padding = lifted(*padding, 0, 0);
    for (Dims* step : {&conv.window.stride, &conv.window.dilation}) *step = lifted(*step, 0, 1);
  }
  return conv;
}

std::string format_reason(const CudnnConv& conv) {
  return conv.channels_last ? "channels last, for tensor cores"
                            : "plain, without tensor cores, which would round f32 to TF32 (--numerics fast allows it)";
}

void add_activation_behind(CudnnBuilder& builder, const CudnnConv& conv, const TensorSpec& y, MemoryRef bias,
                           MemoryRef residual, const std::optional<KernelActivation>& activation) {
  OwnKernels* kernels = builder.kernels();
  if (!kernels) return;
  std::vector<KernelCall> calls;
  const int64_t elements = element_count(y), channels = y.dims[1];
  add_activation(calls, *kernels,
                 {.y = builder.output(),
                  .x = builder.output(),
                  .bias = bias,
                  .residual = residual,
                  .dtype = y.dtype,
                  .elements = elements,
                  .inner = conv.channels_last ? 1 : product(y.dims, 2, y.dims.size()),
                  .channels = channels,
                  .activation = activation.value_or(KernelActivation{})});
  for (KernelCall& call : calls) builder.add(std::move(call));
}

Result<Prepared> prepare_conv(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  const CudnnConv conv = cudnn_conv_of(operands, conv_shape(operands), operands.operand("weight").dims);
  if (is_joined(operands)) return prepare_joined_conv(operands, conv, context);
  CudnnBuilder builder(operands, context);
  builder.because(format_reason(conv));
  builder.prepared.outputs[0] = conv.placed(operands.output());
  for (const char* role : {"x", "weight", "residual"}) {
    if (!operands.has(role)) continue;
    if (std::string_view(role) == "residual")
      require(operands.operand(role).dims == operands.output().dims, "residual should have the output's shape");
    builder.prepared.inputs[size_t(operands.find(role))] = conv.placed(operands.operand(role));
  }
  const Behind behind = behind_of(builder);
  if (behind.any() && add_in_one(builder, conv, behind)) return builder.take();

  const DType dtype = operands.dtype();
  CudnnGraph graph;
  const auto x = graph.tensor(dtype, conv.x, conv.strides(conv.x)),
             weight = graph.tensor(dtype, conv.weight, conv.strides(conv.weight));
  const auto y = graph.conv_forward(x, weight, conv.window, conv.y);
  graph.output(y, dtype, conv.strides(conv.y));
  builder.add(graph, {{x, builder.input("x")}, {weight, builder.input("weight")}, {y, builder.output()}});
  if (!behind.any()) return builder.take();
  add_activation_behind(builder, conv, builder.prepared.outputs[0], behind.bias, behind.residual, behind.activation);
  return builder.take();
}

Result<Prepared> prepare_conv_transpose(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  ConvShape g = mirrored_conv_shape(operands);
  for (size_t i = 0; i < g.padding_end.size(); ++i) {
    // The part of y that no whole step reaches needs no padding: the division in the convolution's output size drops it.
    const int64_t added = g.padding_begin[i] - g.padding_end[i];
    g.padding_end[i] = g.padding_begin[i] - added / g.stride[i] * g.stride[i];
    require(g.padding_end[i] >= 0,
            "cuDNN has no transposed convolution with an output_padding of " + std::to_string(added) + " beyond its padding");
  }
  const CudnnConv conv = cudnn_conv_of(operands, g, operands.operand("weight").dims);

  CudnnBuilder builder(operands, context);
  builder.because("the gradient of a convolution; " + format_reason(conv));
  for (const char* role : {"x", "weight"})
    builder.prepared.inputs[size_t(operands.find(role))] = conv.placed(operands.operand(role));
  builder.prepared.outputs[0] = conv.placed(operands.output());
  CudnnGraph graph;
  const auto dy = graph.tensor(operands.dtype(), conv.y, conv.strides(conv.y)),
             w = graph.tensor(operands.dtype(), conv.weight, conv.strides(conv.weight));
  const auto dx = graph.conv_backward_data(dy, w, conv.window, conv.x);
  graph.output(dx, operands.dtype(), conv.strides(conv.x));
  builder.add(graph, {{dy, builder.input("x")}, {w, builder.input("weight")}, {dx, builder.output()}});
  const Behind behind = behind_of(builder);
  if (!behind.any()) return builder.take();
  builder.because(behind.names() + " by the project's own kernel: cuDNN fuses nothing behind its fast engines for gradients");
  add_activation_behind(builder, conv, builder.prepared.outputs[0], behind.bias, {}, behind.activation);
  return builder.take();
}

}  // namespace sheaf::cuda
