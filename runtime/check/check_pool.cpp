// Pooling over the two last dimensions of [N, C, h, w].
#include "runtime/check/step_check.h"

namespace sheaf {

namespace {

constexpr int64_t kLargestStep = 1 << 20;

/// y's shape for x of shape `x`, by the attributes kernel_size, stride, padding, ceil_mode; empty on failure.
Shape pooled(StepCheck& check, const Shape& x, const std::vector<int64_t>& dilation) {
  const auto kernel = check.integers("kernel_size", 2, 1, kLargestStep);
  const auto stride = check.integers("stride", 2, 1, kLargestStep);
  const auto padding = check.integers("padding", 2, 0, kLargestStep);
  const bool ceil_mode = check.boolean("ceil_mode");
  if (check.failed()) return {};
  Shape expected = {x[0], x[1]};
  for (size_t i = 0; i < 2; ++i) {
    if (padding[i] > kernel[i] / 2) {
      check.fail("'padding' must be at most half of 'kernel_size'");
      return {};
    }
    const int64_t span = dilation[i] * (kernel[i] - 1) + 1;
    const auto size = window_count(x[i + 2], padding[i], padding[i], span, stride[i], ceil_mode);
    if (!size) {
      check.fail("dimension " + std::to_string(i + 2) + " of '" + check.input(0).name + "' (" +
                 to_string(x[i + 2]) + ") can't be pooled by " + std::to_string(kernel[i]));
      return {};
    }
    expected.push_back(*size);
  }
  return expected;
}

/// x → y, and a workspace if `train`.
void check_windows(StepCheck& check, const std::vector<int64_t>& dilation, bool train) {
  if (!check.roles({"x"}) || !check.outputs(train ? 2 : 1)) return;
  check.floating_beside_workspace(train ? 1 : -1);
  check.rank(check.input(0), 4);
  if (check.failed()) return;
  const Shape expected = pooled(check, check.input(0).shape, dilation);
  if (!check.failed()) check.shape(check.output(0), expected);
}

/// dx's shape: dy's with the spatial sizes of the attribute `size`.
Shape shape_before_pooling(StepCheck& check) {
  check.rank(check.input(0), 4);
  const auto size = check.integers("size", 2, 1, kLargestDim);
  if (check.failed()) return {};
  const Shape& dy = check.input(0).shape;
  const Shape x = {dy[0], dy[1], Extent(size[0]), Extent(size[1])};
  check.shape(check.output(0), x);
  return x;
}

/// dy → dx, with a workspace if `maximum`.
void check_windows_backward(StepCheck& check, const std::vector<int64_t>& dilation, bool maximum) {
  const bool good = maximum ? check.roles({"dy", "workspace"}) : check.roles({"dy"});
  if (!good || !check.outputs(1)) return;
  check.floating_beside_workspace(-1);
  const Shape x = shape_before_pooling(check);
  if (check.failed()) return;
  const Shape expected = pooled(check, x, dilation);
  if (!check.failed()) check.shape(check.input(0), expected);
}

/// An adaptive pooling from `x` to `y`, each [N, C, h, w].
void check_adaptive(StepCheck& check, const Shape& x, const Shape& y) {
  for (size_t i = 2; i < 4; ++i) {
    const bool empty = x[i].is_static() && x[i].constant == 0;
    const bool sized = y[i].is_static() && y[i].constant >= 1;
    if (empty || (!sized && y[i] != x[i]))
      check.fail("shape " + to_string(x) + " can't be pooled to " + to_string(y));
  }
}

}  // namespace

void check_max_pool(StepCheck& check) {
  check.attributes({"kernel_size", "stride", "padding", "dilation", "ceil_mode"});
  check_windows(check, check.integers("dilation", 2, 1, kLargestStep), false);
}

void check_max_pool_train(StepCheck& check) {
  check.attributes({"kernel_size", "stride", "padding", "dilation", "ceil_mode"});
  check_windows(check, check.integers("dilation", 2, 1, kLargestStep), true);
}

void check_max_pool_backward(StepCheck& check) {
  check.attributes({"kernel_size", "stride", "padding", "dilation", "ceil_mode", "size"});
  check_windows_backward(check, check.integers("dilation", 2, 1, kLargestStep), true);
}

void check_avg_pool(StepCheck& check) {
  check.attributes(
      {"kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"});
  check.boolean("count_include_pad");
  check.integer("divisor_override", 0, INT32_MAX);
  check_windows(check, {1, 1}, false);
}

void check_avg_pool_backward(StepCheck& check) {
  check.attributes(
      {"kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override", "size"});
  check.boolean("count_include_pad");
  check.integer("divisor_override", 0, INT32_MAX);
  check_windows_backward(check, {1, 1}, false);
}

void check_adaptive_avg_pool(StepCheck& check) {
  check.attributes({});
  check.floating();
  if (!check.roles({"x"}) || !check.outputs(1)) return;
  const Value& x = check.input(0);
  const Value& y = check.output(0);
  check.rank(x, 4);
  check.rank(y, 4);
  if (check.failed()) return;
  check.shape(y, {x.shape[0], x.shape[1], y.shape[2], y.shape[3]});
  check_adaptive(check, x.shape, y.shape);
}

void check_adaptive_avg_pool_backward(StepCheck& check) {
  check.attributes({"size"});
  check.floating();
  if (!check.roles({"dy"}) || !check.outputs(1)) return;
  const Shape x = shape_before_pooling(check);
  if (!check.failed()) check_adaptive(check, x, check.input(0).shape);
}

}  // namespace sheaf
