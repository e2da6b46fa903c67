#include "runtime/steps/pool_shape.h"

#include <algorithm>

#include "runtime/ops/adaptive_window.h"
#include "runtime/ops/pooling.h"
#include "runtime/steps/conv_shape.h"

namespace sheaf {
namespace {

void check_shapes(const Dims& x, const Dims& y) {
  require(x.size() >= 3 && x.size() <= 5, "x has shape " + to_string(x) + ", expected [N, C, …] with 1 to 3 more dims");
  require(y.size() == x.size() && y[0] == x[0] && y[1] == x[1], "output " + to_string(y) + " doesn't fit x " + to_string(x));
}

}  // namespace

bool Pooling::dilated() const {
  return std::any_of(dilation.begin(), dilation.end(), [](int64_t d) { return d != 1; });
}

Pooling pooling_of(const StepOperands& operation, const Dims& x, const Dims& y) {
  check_shapes(x, y);
  const size_t spatial = x.size() - 2;
  const bool ceil_mode = operation.flag("ceil_mode", false);
  Pooling p;
  p.x = x;
  p.y = y;
  p.kernel = operation.integers("kernel_size", spatial, 0, 1);
  p.stride = operation.integers("stride", spatial, 0, 1);
  p.padding_begin = operation.integers("padding", spatial, 0, 0);
  p.dilation = operation.integers("dilation", spatial, 1, 1);
  for (size_t i = 0; i < spatial; ++i) {
    require(p.kernel[i] > 0, "attribute 'kernel_size' is missing");
    if (p.stride[i] == 0) p.stride[i] = p.kernel[i];
  }
  const auto windows = sliding_windows(p.kernel, p.stride, p.dilation, p.padding_begin, p.padding_begin, ceil_mode);
  auto expected = pooled_shape(Shape(x.begin(), x.end()), windows);
  require(bool(expected), expected ? "" : expected.error().message());
  require(Shape(y.begin(), y.end()) == *expected,
          "output " + to_string(y) + " doesn't fit x " + to_string(x) + ": it should be " + to_string(*expected));
  for (size_t i = 0; i < spatial; ++i) {
    // What the last window needs; at least the padding asked for, which oneDNN checks against the output's size.
    const int64_t needed = (y[i + 2] - 1) * p.stride[i] + windows[i].span() - x[i + 2] - p.padding_begin[i];
    p.padding_end.push_back(std::max(needed, p.padding_begin[i]));
  }
  return p;
}

Averaging averaging_of(const StepOperands& operation, const Pooling& p) {
  require(!p.dilated(), "avg_pool has no dilation");
  Averaging average;
  const int64_t divisor = operation.integer("divisor_override", 0);
  // Including the padding, a library always divides by the kernel's size: also right for any other fixed
  // divisor.
  if (divisor != 0) {
    average.scale = float(double(product(p.kernel, 0, p.spatial())) / double(divisor));
    return average;
  }
  if (!operation.flag("count_include_pad", true)) {
    average.include_padding = false;
    return average;
  }
  if (p.padding_end == p.padding_begin) return average;
  // In ceil mode the last windows may reach beyond the padding; PyTorch divides by the number of elements within it.
  average.windows.resize(p.spatial());
  for (size_t i = 0; i < p.spatial(); ++i) {
    for (int64_t o = 0; o < p.y[i + 2]; ++o) {
      const int64_t begin = o * p.stride[i] - p.padding_begin[i], size = p.x[i + 2];
      const int64_t end = std::min(begin + p.kernel[i], size + p.padding_begin[i]);
      average.windows[i].push_back({std::max<int64_t>(begin, 0), std::min(end, size), end - begin});
    }
  }
  return average;
}

std::vector<std::vector<Window>> adaptive_windows(const Dims& x, const Dims& y) {
  check_shapes(x, y);
  std::vector<std::vector<Window>> windows;
  for (size_t i = 2; i < x.size(); ++i) {
    const int64_t in = x[i], out = y[i];
    require(in > 0, "can't pool x " + to_string(x) + " adaptively");
    windows.emplace_back();
    for (int64_t o = 0; o < out; ++o) {
      const AdaptiveWindow window(o, in, out);
      windows.back().push_back({window.begin, window.end, window.end - window.begin});
    }
  }
  return windows;
}

Averaging adaptive_pooling_of(const Dims& x, const Dims& y, Pooling& p) {
  Averaging average;
  average.windows = adaptive_windows(x, y);
  p = {};
  p.x = x;
  p.y = y;
  bool uniform = true;
  for (size_t i = 2; i < x.size(); ++i) {
    uniform = uniform && x[i] % y[i] == 0;
    p.kernel.push_back(x[i] / y[i]);
  }
  p.stride = p.kernel;
  p.dilation.assign(p.kernel.size(), 1);
  p.padding_begin.assign(p.kernel.size(), 0);
  p.padding_end = p.padding_begin;
  if (uniform) average = {.include_padding = false, .windows = {}};
  return average;
}

Dims pooled_from(const StepOperands& operation) {
  const Dims &dy = operation.operand("dy").dims, &dx = operation.output().dims;
  Dims x = {};
  for (const int64_t size : spatial_sizes(operation, "size", dy.size())) x.push_back(size);
  x.insert(x.begin(), dy.begin(), dy.begin() + 2);
  require(dx == x, "output has shape " + to_string(dx) + ", expected " + to_string(x));
  return x;
}

}  // namespace sheaf
