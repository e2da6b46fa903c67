// Linear layers, matrix products, convolutions.
#include "runtime/check/step_check.h"

#include <utility>

namespace sheaf {

namespace {

// Wide enough for any layer; with sizes below 2^40, products stay within 64 bits.
constexpr int64_t kLargestStep = 1 << 20;

void optional_vector(StepCheck& check, const char* role, int64_t size) {
  if (const Value* value = check.operand(role)) check.shape(*value, {Extent(size)});
}

/// A dimension of a broadcast; empty if the two don't go together.
std::optional<Extent> broadcast(const Extent& a, const Extent& b) {
  if (a == b || b == Extent(1)) return a;
  if (a == Extent(1)) return b;
  return std::nullopt;
}

}  // namespace

void check_linear(StepCheck& check) {
  check.attributes({}, {"activation"});
  check.activation();
  check.floating();
  if (!check.roles({"x", "weight"}, {"bias", "residual"}) || !check.outputs(1)) return;
  const Value& x = *check.operand("x");
  const Value& weight = *check.operand("weight");
  check.rank(weight, 2);
  const std::vector<int64_t> dims = check.static_dims(weight);
  if (check.failed()) return;
  if (x.shape.empty() || x.shape.back() != Extent(dims[1]))
    return check.fail("'" + x.name + "' has shape " + to_string(x.shape) + "; its last dimension must be " +
                      std::to_string(dims[1]));
  optional_vector(check, "bias", dims[0]);
  Shape expected = x.shape;
  expected.back() = Extent(dims[0]);
  if (const Value* residual = check.operand("residual")) check.shape(*residual, expected);
  check.shape(check.output(0), expected);
}

void check_matmul(StepCheck& check) {
  check.attributes({}, {"transpose_a", "transpose_b"});
  check.floating();
  if (!check.roles({"a", "b"}) || !check.outputs(1)) return;
  const auto shape_of = [&](const char* role, const char* transpose) {
    Shape shape = check.operand(role)->shape;
    if (!check.step().attributes.contains(transpose) || !check.boolean(transpose)) return shape;
    if (shape.size() < 2) check.fail(std::string("'") + transpose + "' needs two dimensions");
    else std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return shape;
  };
  const Shape a = shape_of("a", "transpose_a");
  const Shape b = shape_of("b", "transpose_b");
  const auto mismatch = [&] {
    check.fail("shapes " + to_string(a) + " and " + to_string(b) + " can't be multiplied");
  };
  if (a.empty() || b.empty()) return mismatch();
  const Extent& inner = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (a.back() != inner) return mismatch();

  // torch.matmul: a vector is a row on the left and a column on the right, and its extra dimension goes away.
  const size_t a_batch = a.size() > 2 ? a.size() - 2 : 0;
  const size_t b_batch = b.size() > 2 ? b.size() - 2 : 0;
  const size_t batch = std::max(a_batch, b_batch);
  Shape expected;
  for (size_t i = 0; i < batch; ++i) {
    const Extent left = i + a_batch >= batch ? a[i + a_batch - batch] : Extent(1);
    const Extent right = i + b_batch >= batch ? b[i + b_batch - batch] : Extent(1);
    const auto both = broadcast(left, right);
    if (!both) return mismatch();
    expected.push_back(*both);
  }
  if (a.size() > 1) expected.push_back(a[a.size() - 2]);
  if (b.size() > 1) expected.push_back(b.back());
  check.shape(check.output(0), expected);
}

void check_conv(StepCheck& check) {
  check.attributes({"stride", "padding_begin", "padding_end", "dilation", "groups"}, {"activation"});
  check.activation();
  check.floating();
  if (!check.roles({"x", "weight"}, {"bias", "residual"}) || !check.outputs(1)) return;
  const Value& x = *check.operand("x");
  const std::vector<int64_t> weight = check.static_dims(*check.operand("weight"));
  if (check.failed()) return;
  if (weight.size() < 3 || weight.size() > 5)
    return check.fail("a convolution has one to three spatial dimensions");
  check.rank(x, weight.size());
  const size_t spatial = weight.size() - 2;
  const auto stride = check.integers("stride", spatial, 1, kLargestStep);
  const auto begin = check.integers("padding_begin", spatial, 0, kLargestStep);
  const auto end = check.integers("padding_end", spatial, 0, kLargestStep);
  const auto dilation = check.integers("dilation", spatial, 1, kLargestStep);
  const int64_t groups = check.integer("groups", 1, kLargestStep);
  if (check.failed()) return;
  if (weight[0] % groups != 0 || x.shape[1] != Extent(weight[1]) * groups)
    return check.fail("weight of shape " + to_string(check.operand("weight")->shape) + " in " +
                      std::to_string(groups) + " groups doesn't fit '" + x.name + "' of shape " +
                      to_string(x.shape));
  optional_vector(check, "bias", weight[0]);

  Shape expected = {x.shape[0], Extent(weight[0])};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t kernel = weight[i + 2];
    if (kernel < 1 || kernel > kLargestStep) return check.fail("a kernel of size " + std::to_string(kernel));
    const auto size =
        window_count(x.shape[i + 2], begin[i], end[i], dilation[i] * (kernel - 1) + 1, stride[i], false);
    if (!size)
      return check.fail("dimension " + std::to_string(i + 2) + " of '" + x.name + "' (" +
                        to_string(x.shape[i + 2]) + ") can't be convolved with a kernel of " +
                        std::to_string(kernel));
    expected.push_back(*size);
  }
  if (const Value* residual = check.operand("residual")) check.shape(*residual, expected);
  check.shape(check.output(0), expected);
}

void check_conv_transpose(StepCheck& check) {
  check.attributes({"stride", "padding", "output_padding", "dilation", "groups"}, {"activation"});
  check.activation();
  check.floating();
  if (!check.roles({"x", "weight"}, {"bias"}) || !check.outputs(1)) return;
  const Value& x = *check.operand("x");
  const std::vector<int64_t> weight = check.static_dims(*check.operand("weight"));
  if (check.failed()) return;
  if (weight.size() < 3 || weight.size() > 5)
    return check.fail("a convolution has one to three spatial dimensions");
  check.rank(x, weight.size());
  const size_t spatial = weight.size() - 2;
  const auto stride = check.integers("stride", spatial, 1, kLargestStep);
  const auto padding = check.integers("padding", spatial, 0, kLargestStep);
  const auto output_padding = check.integers("output_padding", spatial, 0, kLargestStep);
  const auto dilation = check.integers("dilation", spatial, 1, kLargestStep);
  const int64_t groups = check.integer("groups", 1, kLargestStep);
  if (check.failed()) return;
  if (weight[0] % groups != 0 || x.shape[1] != Extent(weight[0]))
    return check.fail("weight of shape " + to_string(check.operand("weight")->shape) + " in " +
                      std::to_string(groups) + " groups doesn't fit '" + x.name + "' of shape " +
                      to_string(x.shape));
  const int64_t channels = (Extent(weight[1]) * groups).constant;
  optional_vector(check, "bias", channels);

  Shape expected = {x.shape[0], Extent(channels)};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t kernel = weight[i + 2];
    if (kernel < 1 || kernel > kLargestStep) return check.fail("a kernel of size " + std::to_string(kernel));
    if (output_padding[i] >= std::max(stride[i], dilation[i]))
      return check.fail("'output_padding' must be smaller than stride or dilation");
    expected.push_back((x.shape[i + 2] + Extent(-1)) * stride[i] +
                       Extent(dilation[i] * (kernel - 1) + output_padding[i] + 1 - 2 * padding[i]));
  }
  check.shape(check.output(0), expected);
}

}  // namespace sheaf
