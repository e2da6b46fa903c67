// Transposed convolution, 1-D to 3-D, with bias and activation: how it can be computed.
#include "runtime/cpu/ops/conv_candidates.h"
#include "runtime/cpu/ops/conv_transpose.h"

#include <algorithm>

namespace sheaf {
namespace {

ConvShape mirror_of(const Operation& operation) {
  const DnnlDims &x = operation.operand("x").dims, &weight = operation.operand("weight").dims, &y = operation.output().dims;
  const size_t rank = x.size(), spatial = rank - 2;
  require(rank >= 3 && rank <= 5, "x has shape " + to_string(x) + ", expected [N, C, …] with 1 to 3 more dims");
  require(weight.size() == rank && y.size() == rank,
          "x " + to_string(x) + ", weight " + to_string(weight) + " and output " + to_string(y) + " should have one rank");
  ConvShape g;
  g.groups = operation.integer("groups", 1);
  g.stride = operation.integers("stride", spatial, 1, 1);
  g.dilation = operation.integers("dilation", spatial, 1, 1);
  g.padding_begin = operation.integers("padding", spatial, 0, 0);
  const auto output_padding = operation.integers("output_padding", spatial, 0, 0);
  require(
      g.groups >= 1 && x[1] % g.groups == 0 && weight[0] == x[1],
      "x " + to_string(x) + " and weight " + to_string(weight) + " don't fit with " + std::to_string(g.groups) + " group(s)");
  std::vector<int64_t> expected = {x[0], weight[1] * g.groups};
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
  g.weight = weight;
  if (g.groups > 1) {
    g.weight[0] /= g.groups;
    g.weight.insert(g.weight.begin(), g.groups);
  }
  if (operation.has("bias")) {
    g.bias = {y[1]};
    require(operation.wide_operand("bias").dims == g.bias, "bias should have shape " + to_string(g.bias));
  }
  return g;
}

}  // namespace

Prepared prepare_conv_transpose(const Operation& operation) {
  const ConvShape mirror = mirror_of(operation);
  require(!operation.has("residual"), "conv_transpose takes no residual");
  if (is_one_pixel(mirror)) return prepare_conv_transpose_product(operation, mirror);
  constexpr auto dx = ConvResult::dx;
  static constexpr ConvCandidate candidates[] = {
      {"winograd", winograd_fits, seconds<winograd_seconds, dx, whole>, prepare<prepare_conv_backward_data_winograd, whole>},
      {"winograd_split", fits_split<winograd_fits>, seconds<winograd_seconds, dx, split>,
       prepare<prepare_conv_backward_data_winograd, split>},
      {"pixels", pixels_fit, seconds<pixels_seconds, dx, whole>, prepare<prepare_conv_backward_data_pixels, whole>},
      {"pixels_split", fits_split<pixels_fit>, seconds<pixels_seconds, dx, split>,
       prepare<prepare_conv_backward_data_pixels, split>},
      {"direct", [](const Operation&, const ConvShape&) { return true; }, transpose_seconds, prepare_conv_transpose_direct},
  };
  return prepare_one_of<ConvShape>(candidates, operation, mirror);
}

}  // namespace sheaf
