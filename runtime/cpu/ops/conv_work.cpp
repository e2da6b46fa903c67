#include "runtime/cpu/ops/conv_work.h"

#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

/// Output pixels and taps along one axis that meet a pixel of x, not padding.
double meetings_along(const ConvShape& g, size_t axis) {
  double count = 0;
  for (int64_t y = 0; y < g.y[axis + 2]; ++y) {
    for (int64_t tap = 0; tap < g.weight[g.weight.size() - (g.x.size() - 2) + axis]; ++tap) {
      const int64_t x = y * g.stride[axis] + tap * g.dilation[axis] - g.padding_begin[axis];
      count += x >= 0 && x < g.x[axis + 2];
    }
  }
  return count;
}

}  // namespace

double vector_rate(bool bf16) {
  const double f32 = has_avx512() ? 267e9 : has_avx2() ? 134e9 : 40e9;
  return bf16 && has_bf16() ? 2 * f32 : f32;
}

Work::Work(const Operation& operation, const ConvShape& g)
    : elements_x(double(product(g.x, 0, g.x.size()))),
      elements_y(double(product(g.y, 0, g.y.size()))),
      images(g.x[0]),
      channels(std::min(g.x[1], g.y[1])),
      width(*std::max_element(g.y.begin() + 2, g.y.end())),
      strided(*std::max_element(g.stride.begin(), g.stride.end()) > 1),
      pointwise(product(g.weight, g.weight.size() - g.x.size() + 2, g.weight.size()) == 1),
      bf16(operation.dtype() == DType::bfloat16),
      transposed(operation.request.step.op == Op::conv_transpose),
      depthwise(g.groups > 1 && g.groups == channels),
      three(g.weight.back() == 3 && g.dilation.back() == 1),
      fixed(operation.constant("weight")),
      threads(operation.request.threads) {
  const double pairs = 2.0 * double(g.x[0]) * double(g.x[1]) * double(g.y[1]) / double(g.groups);
  dense = met = pairs;
  for (size_t axis = 0; axis + 2 < g.x.size(); ++axis) {
    met *= meetings_along(g, axis);
    dense *= double(g.y[axis + 2]) * double(g.weight[g.weight.size() - (g.x.size() - 2) + axis]);
  }
}

}  // namespace sheaf
