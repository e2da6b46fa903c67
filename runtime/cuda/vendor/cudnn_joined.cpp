// Convolutions and their gradients joined with the batch norms around them, as runtime/bind/join_convolutions.h describes them. cuDNN's
// engines for these graphs are ready-made, for f16 alone; which graphs they take, tests/cuda/test_plans.py shows.
#include "runtime/cuda/vendor/cudnn_conv.h"

#include "runtime/cuda/vector_norm.h"

namespace sheaf::cuda {
namespace {

class JoinedGraph {
 public:
  using Id = CudnnGraph::Id;

  JoinedGraph(CudnnBuilder& builder, const CudnnConv& conv) : builder_(builder), conv_(conv), dtype_(builder.operands.dtype()) {
    require(dtype_ == DType::float16, "cuDNN joins convolutions of f16 with batch norms, no others");
    require(builder.operands.integer("groups", 1) == 1, "cuDNN joins no convolution in groups with batch norms");
    require(conv.x[1] % 8 == 0 && conv.y[1] % 8 == 0,
            "cuDNN joins convolutions of channels in vectors of eight with batch norms, no others");
    builder.because("joined with the batch norms around it, which cuDNN does for f16; channels last");
  }

  Id operand(const char* role, const Dims& dims) {
    builder_.prepared.inputs[size_t(builder_.operands.find(role))] = conv_.placed(builder_.operands.operand(role));
    return tensor(dtype_, dims, builder_.input(role));
  }
  /// One number a channel, the `row`-th of an operand's rows.
  Id channels(DType dtype, int64_t count, MemoryRef place, size_t row = 0) {
    place.offset += row * size_t(count) * size_of(dtype);
    return tensor(dtype, of_channels(count), place);
  }
  Id wide(const char* role, int64_t count, size_t row = 0) {
    return channels(DType::float32, count, builder_.input(role), row);
  }
  void output(Id id, DType dtype, const Dims& dims, MemoryRef place) {
    graph.output(id, dtype, conv_.strides(dims));
    places_.emplace_back(id, place);
  }
  void channel_output(Id id, int64_t count, MemoryRef place, size_t row = 0) {
    place.offset += row * size_t(count) * sizeof(float);
    output(id, DType::float32, of_channels(count), place);
  }
  /// relu(x · the first of x_factors + the second), where the step has x_factors; else x.
  Id front(Id x) {
    const MemoryRef factors = builder_.input("x_factors");
    if (factors.buffer < 0) return x;
    const int64_t count = conv_.x[1];
    const Id scaled = graph.pointwise(Pointwise::multiply, x, channels(dtype_, count, factors));
    return graph.pointwise(Pointwise::relu, graph.pointwise(Pointwise::add, scaled, channels(dtype_, count, factors, 1)));
  }
  /// Takes the ready-made engine; throws OperationError where there is none.
  void add() {
    EngineChoice choice = builder_.choice();
    choice.compiled = false;
    const auto plan = builder_.plan(graph, choice);
    if (!plan) throw OperationError("cuDNN has no ready-made engine for it: " + gist_of(plan.error()));
    builder_.add(*plan, graph, places_);
  }

  CudnnGraph graph;

 private:
  Id tensor(DType dtype, const Dims& dims, MemoryRef place) {
    places_.emplace_back(graph.tensor(dtype, dims, conv_.strides(dims)), place);
    return places_.back().first;
  }
  Dims of_channels(int64_t count) const {
    Dims dims(conv_.y.size(), 1);
    dims[1] = count;
    return dims;
  }

  CudnnBuilder& builder_;
  const CudnnConv& conv_;
  DType dtype_;
  std::vector<std::pair<Id, MemoryRef>> places_;
};

}  // namespace

Prepared prepare_joined_conv(const StepOperands& operands, const CudnnConv& conv, LibraryContext& context) {
  const auto eps = operands.request.step.attributes.find("statistics");
  require(eps != operands.request.step.attributes.end() && eps->is_number(),
          "cuDNN normalises in front of no convolution without statistics");
  const size_t results = operands.request.outputs.size();
  require(results >= 3 && results <= 5, "expected 3 to 5 outputs");
  CudnnBuilder builder(operands, context);
  JoinedGraph joined(builder, conv);
  const int64_t channels = conv.y[1];
  for (const size_t i : {1, 2}) require(operands.wide_output(i).dims == Dims{channels}, "statistics should have shape [C]");
  builder.prepared.outputs[0] = conv.placed(operands.output());
  const auto x = joined.front(joined.operand("x", conv.x)), weight = joined.operand("weight", conv.weight);
  const auto y = joined.graph.conv_forward(x, weight, conv.window, conv.y);
  joined.output(y, operands.dtype(), conv.y, builder.output());
  const MemoryRef sums = builder.scratch(size_t(channels) * 2 * sizeof(float));
  const auto both = joined.graph.sums(y);
  for (const size_t row : {0, 1}) joined.channel_output(both[row], channels, sums, row);
  joined.add();

  builder.because("Σ y and Σ y² of f32 sums, which the project's own kernel makes mean and variance of");
  StatisticsCall call{.dtype = operands.dtype(),
                      .channels = channels,
                      .values = product(conv.y, 0, conv.y.size()) / channels,
                      .eps = float(eps->get<double>()),
                      .sums = sums,
                      .x_bias = builder.input("x_bias"),
                      .weight = builder.input("norm_weight"),
                      .bias = builder.input("norm_bias"),
                      .mean = builder.output(1),
                      .var = builder.output(2)};
  if (results > 3) call.moments = builder.output(3);
  if (results > 4) call.factors = builder.output(4);
  builder.add_statistics(call);
  return builder.take();
}

Prepared prepare_joined_backward_data(const StepOperands& operands, const CudnnConv& conv, LibraryContext& context) {
  require(operands.request.outputs.size() == 4, "expected 4 outputs");
  const int64_t channels = conv.x[1];
  for (const size_t i : {1, 2})
    require(operands.wide_output(i).dims == Dims{channels}, "gradients of a norm should have shape [C]");
  CudnnBuilder builder(operands, context);
  JoinedGraph joined(builder, conv);
  builder.prepared.outputs[0] = conv.placed(operands.output());
  const auto dy = joined.operand("dy", conv.y), weight = joined.operand("weight", conv.weight), x = joined.operand("x", conv.x);
  const auto mean = joined.wide("moments", channels), inverse = joined.wide("moments", channels, 1),
             scale = joined.wide("norm_weight", channels), shift = joined.wide("norm_bias", channels);
  CudnnGraph& graph = joined.graph;
  auto dx = graph.conv_backward_data(dy, weight, conv.window, conv.x);
  if (operands.has("dy2")) dx = graph.pointwise(Pointwise::add, dx, joined.operand("dy2", conv.x));
  // cuDNN knows the norm by exactly these nodes.
  auto norm = graph.pointwise(Pointwise::multiply, graph.pointwise(Pointwise::subtract, x, mean), inverse);
  norm = graph.pointwise(Pointwise::add, graph.pointwise(Pointwise::multiply, norm, scale), shift);
  if (operands.has("residual")) norm = graph.pointwise(Pointwise::add, norm, joined.operand("residual", conv.x));
  const auto gradient = graph.pointwise(Pointwise::relu_backward, dx, norm);
  joined.output(gradient, operands.dtype(), conv.x, builder.output());
  const auto made = graph.norm_weight(gradient, x, mean, inverse, scale);
  for (const size_t i : {0, 1}) joined.channel_output(made[i], channels, builder.output(1 + i));
  for (const size_t row : {0, 1, 2}) joined.channel_output(made[2 + row], channels, builder.output(3), row);
  joined.add();
  return builder.take();
}

Prepared prepare_joined_backward_weight(const StepOperands& operands, const CudnnConv& conv, LibraryContext& context) {
  require(operands.request.outputs.size() == 1, "expected 1 output: a joined convolution has no bias");
  CudnnBuilder builder(operands, context);
  JoinedGraph joined(builder, conv);
  builder.prepared.outputs[0] = conv.placed(plain_tensor(operands.dtype(), operands.wide_output().dims));
  const auto x = joined.front(joined.operand("x", conv.x)), dy = joined.operand("dy", conv.y);
  const auto dweight = joined.graph.conv_backward_weight(x, dy, conv.window, conv.weight);
  joined.output(dweight, operands.dtype(), conv.weight, builder.output());
  joined.add();
  return builder.take();
}

}  // namespace sheaf::cuda
