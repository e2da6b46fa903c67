// Pooling over the two last dimensions of [N, C, h, w].
#include "runtime/plan/step_check.h"

namespace sheaf {

namespace {

constexpr int64_t kLargestStep = 1 << 20;

void check_windows(StepCheck& check, const std::vector<int64_t>& dilation) {
  if (!check.roles({"x"}) || !check.outputs(1)) return;
  check.floating();
  const Value& x = check.input(0);
  check.rank(x, 4);
  const auto kernel = check.integers("kernel_size", 2, 1, kLargestStep);
  const auto stride = check.integers("stride", 2, 1, kLargestStep);
  const auto padding = check.integers("padding", 2, 0, kLargestStep);
  const bool ceil_mode = check.boolean("ceil_mode");
  if (check.failed()) return;
  Shape expected = {x.shape[0], x.shape[1]};
  for (size_t i = 0; i < 2; ++i) {
    if (padding[i] > kernel[i] / 2) return check.fail("'padding' must be at most half of 'kernel_size'");
    const int64_t span = dilation[i] * (kernel[i] - 1) + 1;
    const auto size = window_count(x.shape[i + 2], padding[i], padding[i], span, stride[i], ceil_mode);
    if (!size)
      return check.fail("dimension " + std::to_string(i + 2) + " of '" + x.name + "' (" +
                        to_string(x.shape[i + 2]) + ") can't be pooled by " + std::to_string(kernel[i]));
    expected.push_back(*size);
  }
  check.shape(check.output(0), expected);
}

}  // namespace

void check_max_pool(StepCheck& check) {
  check.attributes({"kernel_size", "stride", "padding", "dilation", "ceil_mode"});
  check_windows(check, check.integers("dilation", 2, 1, kLargestStep));
}

void check_avg_pool(StepCheck& check) {
  check.attributes(
      {"kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"});
  check.boolean("count_include_pad");
  check.integer("divisor_override", 0, INT32_MAX);
  check_windows(check, {1, 1});
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
  for (size_t i = 2; i < 4; ++i) {
    const bool empty = x.shape[i].is_static() && x.shape[i].constant == 0;
    const bool sized = y.shape[i].is_static() && y.shape[i].constant >= 1;
    if (empty || (!sized && y.shape[i] != x.shape[i]))
      check.fail("'" + x.name + "' of shape " + to_string(x.shape) + " can't be pooled to " +
                 to_string(y.shape));
  }
}

}  // namespace sheaf
