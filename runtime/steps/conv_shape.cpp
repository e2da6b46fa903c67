#include "runtime/steps/conv_shape.h"

#include "runtime/ops/convolution.h"

namespace sheaf {

ConvShape conv_shape(const StepOperands& operation, const Dims& x, const Dims& weight, const Dims& y,
                     const std::string& y_name) {
  const size_t rank = x.size();
  require(rank >= 3 && rank <= 5, "x has shape " + to_string(x) + ", expected [N, C, …] with 1 to 3 more dims");
  require(weight.size() == rank && y.size() == rank, "x " + to_string(x) + ", weight " + to_string(weight) + " and " + y_name +
                                                         " " + to_string(y) + " should have one rank");
  ConvShape g;
  const size_t spatial = rank - 2;
  g.groups = operation.integer("groups", 1);
  g.stride = operation.integers("stride", spatial, 1, 1);
  g.dilation = operation.integers("dilation", spatial, 1, 1);
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
  g.weight = weight;
  if (g.groups > 1) {
    g.weight[0] /= g.groups;
    g.weight.insert(g.weight.begin(), g.groups);
  }
  return g;
}

ConvShape conv_shape(const StepOperands& operation) {
  const Dims& weight = operation.operand("weight").dims;
  ConvShape g = conv_shape(operation, operation.operand("x").dims, weight, operation.output().dims, "output");
  if (operation.has("bias")) {
    g.bias = {weight[0]};
    require(operation.wide_operand("bias").dims == g.bias, "bias should have shape " + to_string(g.bias));
  }
  return g;
}

Dims spatial_sizes(const StepOperands& operation, const char* name, size_t rank) {
  require(rank >= 3 && rank <= 5, "expected operands [N, C, …] with 1 to 3 more dims");
  const Dims sizes = operation.integers(name, rank - 2, 0, 0);
  for (const int64_t size : sizes) require(size > 0, std::string("attribute '") + name + "' is missing or not positive");
  return sizes;
}

}  // namespace sheaf
