#include "runtime/steps/conv_shape.h"

#include "runtime/ops/convolution.h"

#include <algorithm>

namespace sheaf {
namespace {

/// Where the windows lie, but for the padding; `y_name` as in conv_shape().
ConvShape grid_of(const StepOperands& operation, const Dims& x, const Dims& weight, const Dims& y, const std::string& y_name) {
  const size_t rank = x.size();
  require(rank >= 3 && rank <= 5, "x has shape " + to_string(x) + ", expected [N, C, …] with 1 to 3 more dims");
  require(weight.size() == rank && y.size() == rank, "x " + to_string(x) + ", weight " + to_string(weight) + " and " + y_name +
                                                         " " + to_string(y) + " should have one rank");
  ConvShape g;
  const size_t spatial = rank - 2;
  g.groups = operation.integer("groups", 1);
  g.stride = operation.integers("stride", spatial, 1, 1);
  g.dilation = operation.integers("dilation", spatial, 1, 1);
  return g;
}

void set_weight(ConvShape& g, const Dims& weight) {
  g.weight = weight;
  if (g.groups > 1) {
    g.weight[0] /= g.groups;
    g.weight.insert(g.weight.begin(), g.groups);
  }
}

void set_bias(ConvShape& g, const StepOperands& operation, int64_t channels) {
  if (!operation.has("bias")) return;
  g.bias = {channels};
  require(operation.wide_operand("bias").dims == g.bias, "bias should have shape " + to_string(g.bias));
}

}  // namespace

ConvShape conv_shape(const StepOperands& operation, const Dims& x, const Dims& weight, const Dims& y,
                     const std::string& y_name) {
  ConvShape g = grid_of(operation, x, weight, y, y_name);
  const size_t spatial = x.size() - 2;
  g.padding_begin = operation.integers("padding_begin", spatial, 0, 0);
  g.padding_end = operation.integers("padding_end", spatial, 0, 0);
  require(g.groups >= 1, "attribute 'groups' should be at least 1");
  const auto windows =
      sliding_windows(std::span(weight).subspan(2), g.stride, g.dilation, g.padding_begin, g.padding_end, false);
  auto expected = convolved_shape(Shape(x.begin(), x.end()), Shape(weight.begin(), weight.end()), g.groups, windows);
  require(bool(expected), expected ? "" : expected.error().message());
  require(Shape(y.begin(), y.end()) == *expected, y_name + " has shape " + to_string(y) + ", expected " + to_string(*expected));
  g.x = x;
  g.y = y;
  set_weight(g, weight);
  return g;
}

ConvShape conv_shape(const StepOperands& operation) {
  const Dims& weight = operation.operand("weight").dims;
  ConvShape g = conv_shape(operation, operation.operand("x").dims, weight, operation.output().dims, "output");
  set_bias(g, operation, weight[0]);
  return g;
}

ConvShape mirrored_conv_shape(const StepOperands& operation) {
  const Dims &x = operation.operand("x").dims, &weight = operation.operand("weight").dims, &y = operation.output().dims;
  ConvShape g = grid_of(operation, x, weight, y, "output");
  const size_t spatial = x.size() - 2;
  g.padding_begin = operation.integers("padding", spatial, 0, 0);
  const Dims output_padding = operation.integers("output_padding", spatial, 0, 0);
  require(
      g.groups >= 1 && x[1] % g.groups == 0 && weight[0] == x[1],
      "x " + to_string(x) + " and weight " + to_string(weight) + " don't fit with " + std::to_string(g.groups) + " group(s)");
  Dims expected = {x[0], weight[1] * g.groups};
  for (size_t i = 0; i < spatial; ++i) {
    require(output_padding[i] < std::max(g.stride[i], g.dilation[i]),
            "output_padding should be smaller than stride or dilation");
    const int64_t reach = g.dilation[i] * (weight[i + 2] - 1) + 1;
    g.padding_end.push_back(g.padding_begin[i] - output_padding[i]);
    expected.push_back((x[i + 2] - 1) * g.stride[i] + reach - g.padding_begin[i] - g.padding_end[i]);
  }
  require(y == expected, "output has shape " + to_string(y) + ", expected " + to_string(expected));
  g.x = y;
  g.y = x;
  set_weight(g, weight);
  set_bias(g, operation, y[1]);
  require(!operation.has("residual"), "conv_transpose takes no residual");
  return g;
}

Dims spatial_sizes(const StepOperands& operation, const char* name, size_t rank) {
  require(rank >= 3 && rank <= 5, "expected operands [N, C, …] with 1 to 3 more dims");
  const Dims sizes = operation.integers(name, rank - 2, 0, 0);
  for (const int64_t size : sizes) require(size > 0, std::string("attribute '") + name + "' is missing or not positive");
  return sizes;
}

}  // namespace sheaf
