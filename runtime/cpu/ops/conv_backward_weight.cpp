// Gradient of a convolution by its weight and bias: x [N, I, …], dy [N, O, …] →
// dweight [O, I/g, k…], dbias [O].
#include "runtime/cpu/ops/conv_candidates.h"

namespace sheaf {
Prepared prepare_conv_backward_weight(const Operation& operation) {
  const DnnlDims &x_dims = operation.operand("x").dims, &dy_dims = operation.operand("dy").dims,
                 &dweight_dims = operation.wide_output().dims;
  const bool bias = operation.flag("bias", false);
  const int64_t groups = operation.integer("groups", 1);
  require(operation.request.outputs.size() == (bias ? 2 : 1),
          bias ? "expected dweight and dbias as outputs" : "expected dweight as output");
  require(groups >= 1 && x_dims.size() >= 2 && dy_dims.size() == x_dims.size(),
          "x " + to_string(x_dims) + " and dy " + to_string(dy_dims) + " don't fit");
  DnnlDims weight = {dy_dims[1], x_dims[1] / groups};
  for (const int64_t size : spatial_sizes(operation, "kernel_size", x_dims.size())) weight.push_back(size);
  require(dweight_dims == weight, "output has shape " + to_string(dweight_dims) + ", expected " + to_string(weight));
  ConvShape g = conv_shape(operation, x_dims, weight, dy_dims, "dy");
  if (bias) {
    g.bias = {weight[0]};
    require(operation.wide_output(1).dims == g.bias, "dbias should have shape " + to_string(g.bias));
  }
  constexpr auto dweight = ConvResult::dweight;
  static constexpr ConvCandidate candidates[] = {
      {"winograd", winograd_fits, seconds<winograd_seconds, dweight, whole>,
       prepare<prepare_conv_backward_weight_winograd, whole>},
      {"winograd_split", winograd_weight_split_fits, seconds<winograd_seconds, dweight, split>,
       prepare<prepare_conv_backward_weight_winograd, split>},
      {"pixels", pixels_fit, seconds<pixels_seconds, dweight, whole>, prepare<prepare_conv_backward_weight_pixels, whole>},
      {"pixels_split", fits_split<pixels_fit>, seconds<pixels_seconds, dweight, split>,
       prepare<prepare_conv_backward_weight_pixels, split>},
      {"pointwise", pointwise_fits, seconds<pointwise_seconds, dweight>, prepare_conv_backward_weight_pointwise},
      {"depthwise", depthwise_fits, seconds<depthwise_seconds, dweight>, prepare_conv_backward_weight_depthwise},
      {"last", fits<dweight, Layout::last>, seconds<dweight, Layout::last>,
       prepare<prepare_conv_backward_weight_direct, Layout::last>},
      {"blocks", fits<dweight, Layout::blocks>, seconds<dweight, Layout::blocks>,
       prepare<prepare_conv_backward_weight_direct, Layout::blocks>},
      {"direct", fits<dweight, Layout::any>, seconds<dweight, Layout::any>,
       prepare<prepare_conv_backward_weight_direct, Layout::any>},
  };
  return prepare_one_of<ConvShape>(candidates, operation, g);
}

}  // namespace sheaf
