#include "runtime/steps/conv_shape.h"

namespace sheaf {

ConvShape conv_shape(const StepOperands& operation, const Dims& x, const Dims& weight, const Dims& y,
                     const std::string& y_name) {
  const size_t rank = x.size();
  require(rank >= 3 && rank <= 5,
          "x has shape " + to_string(x) + ", expected [N, C, …] with 1 to 3 more dims");
  require(weight.size() == rank && y.size() == rank, "x " + to_string(x) + ", weight " + to_string(weight) +
                                                         " and " + y_name + " " + to_string(y) +
                                                         " should have one rank");
  ConvShape g;
  const size_t spatial = rank - 2;
  g.groups = operation.integer("groups", 1);
  g.stride = operation.integers("stride", spatial, 1, 1);
  g.dilation = operation.integers("dilation", spatial, 1, 1);
  g.padding_begin = operation.integers("padding_begin", spatial, 0, 0);
  g.padding_end = operation.integers("padding_end", spatial, 0, 0);
  require(g.groups >= 1 && weight[0] % g.groups == 0 && x[1] == weight[1] * g.groups,
          "x " + to_string(x) + " and weight " + to_string(weight) + " don't fit with " +
              std::to_string(g.groups) + " group(s)");
  std::vector<int64_t> expected = {x[0], weight[0]};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t reach = g.dilation[i] * (weight[i + 2] - 1) + 1;
    const int64_t room = x[i + 2] + g.padding_begin[i] + g.padding_end[i] - reach;
    require(room >= 0, "the kernel is larger than the padded input " + to_string(x));
    expected.push_back(room / g.stride[i] + 1);
  }
  require(y == expected, y_name + " has shape " + to_string(y) + ", expected " + to_string(expected));
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
  for (const int64_t size : sizes)
    require(size > 0, std::string("attribute '") + name + "' is missing or not positive");
  return sizes;
}

}  // namespace sheaf
