// Gradient of a convolution by its input: dy [N, O, …], weight [O, I/g, k…] → dx [N, I, size…].
#include "runtime/cpu/ops/conv_candidates.h"

namespace sheaf {
Prepared prepare_conv_backward_data(const Operation& operation) {
  const DnnlDims &dy_dims = operation.operand("dy").dims, &weight_dims = operation.operand("weight").dims,
                 &dx_dims = operation.output().dims;
  require(weight_dims.size() >= 2 && !dy_dims.empty(),
          "dy " + to_string(dy_dims) + " and weight " + to_string(weight_dims) + " don't fit");
  DnnlDims x = {dy_dims[0], weight_dims[1] * operation.integer("groups", 1)};
  for (const int64_t size : spatial_sizes(operation, "size", dy_dims.size())) x.push_back(size);
  require(dx_dims == x, "output has shape " + to_string(dx_dims) + ", expected " + to_string(x));
  const ConvShape g = conv_shape(operation, x, weight_dims, dy_dims, "dy");
  constexpr auto dx = ConvResult::dx;
  static constexpr auto candidates = joined(
      by_pixels_dx,
      std::to_array<ConvCandidate>({
          {"pointwise", pointwise_fits, seconds<pointwise_seconds, dx>, prepare_conv_backward_data_pointwise},
          {"last", fits<dx, Layout::last>, seconds<dx, Layout::last>, prepare<prepare_conv_backward_data_direct, Layout::last>},
          {"blocks", fits<dx, Layout::blocks>, seconds<dx, Layout::blocks>,
           prepare<prepare_conv_backward_data_direct, Layout::blocks>},
          {"direct", fits<dx, Layout::any>, seconds<dx, Layout::any>, prepare<prepare_conv_backward_data_direct, Layout::any>},
      }));
  return prepare_one_of<ConvShape>(candidates, operation, g);
}

}  // namespace sheaf
