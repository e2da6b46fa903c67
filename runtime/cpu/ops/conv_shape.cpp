#include "runtime/cpu/ops/conv_shape.h"

namespace sheaf {

ConvShape conv_shape(const Operation& operation) {
  const TensorSpec &x = operation.operand("x"), &weight = operation.operand("weight"),
                   &y = operation.output();
  const size_t rank = x.dims.size();
  require(rank >= 3 && rank <= 5,
          "x has shape " + to_string(x.dims) + ", expected [N, C, …] with 1 to 3 more dims");
  require(weight.dims.size() == rank && y.dims.size() == rank,
          "x " + to_string(x.dims) + ", weight " + to_string(weight.dims) + " and output " +
              to_string(y.dims) + " should have one rank");
  ConvShape g;
  const size_t spatial = rank - 2;
  g.groups = operation.integer("groups", 1);
  g.stride = operation.integers("stride", spatial, 1, 1);
  g.dilation = operation.integers("dilation", spatial, 1, 1);
  g.padding_begin = operation.integers("padding_begin", spatial, 0, 0);
  g.padding_end = operation.integers("padding_end", spatial, 0, 0);
  require(g.groups >= 1 && weight.dims[0] % g.groups == 0 && x.dims[1] == weight.dims[1] * g.groups,
          "x " + to_string(x.dims) + " and weight " + to_string(weight.dims) + " don't fit with " +
              std::to_string(g.groups) + " group(s)");
  std::vector<int64_t> expected = {x.dims[0], weight.dims[0]};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t reach = g.dilation[i] * (weight.dims[i + 2] - 1) + 1;
    const int64_t room = x.dims[i + 2] + g.padding_begin[i] + g.padding_end[i] - reach;
    require(room >= 0, "the kernel is larger than the padded input " + to_string(x.dims));
    expected.push_back(room / g.stride[i] + 1);
  }
  require(y.dims == expected, "output has shape " + to_string(y.dims) + ", expected " + to_string(expected));
  g.x = x.dims;
  g.y = y.dims;
  g.weight = weight.dims;
  if (g.groups > 1) {
    g.weight[0] /= g.groups;
    g.weight.insert(g.weight.begin(), g.groups);
  }
  if (operation.has("bias")) {
    g.bias = {weight.dims[0]};
    require(operation.operand("bias").dims == g.bias, "bias should have shape " + to_string(g.bias));
  }
  return g;
}

}  // namespace sheaf
