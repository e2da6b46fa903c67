// Gradients of linear layers and convolutions, batch norm in training.
#include "runtime/check/step_check.h"

namespace sheaf {

namespace {

constexpr int64_t kLargestStep = 1 << 20;

/// Sizes of a convolution in a backward step, by its attributes.
struct Convolution {
  std::vector<int64_t> stride, begin, end, dilation;
  int64_t groups = 1;
};

Convolution read_convolution(StepCheck& check, size_t spatial) {
  return {check.integers("stride", spatial, 1, kLargestStep),
          check.integers("padding_begin", spatial, 0, kLargestStep),
          check.integers("padding_end", spatial, 0, kLargestStep),
          check.integers("dilation", spatial, 1, kLargestStep), check.integer("groups", 1, kLargestStep)};
}

/// How many spatial dimensions dy, a convolution's result, has; none on failure.
size_t spatial_dims(StepCheck& check, const Value& dy) {
  if (dy.shape.size() >= 3 && dy.shape.size() <= 5) return dy.shape.size() - 2;
  check.fail("a convolution has one to three spatial dimensions");
  return 0;
}

/// y's shape for x of shape `x` and a weight of shape `weight` [O, I/g, k…]; empty on failure.
Shape convolved(StepCheck& check, const Convolution& c, const Shape& x, const std::vector<int64_t>& weight) {
  if (weight[0] % c.groups != 0 || x[1] != Extent(weight[1]) * c.groups) {
    check.fail("a weight of " + std::to_string(weight[0]) + " by " + std::to_string(weight[1]) +
               " channels in " + std::to_string(c.groups) + " groups doesn't fit x of shape " + to_string(x));
    return {};
  }
  Shape y = {x[0], Extent(weight[0])};
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    const int64_t kernel = weight[i + 2];
    const bool sound = kernel >= 1 && kernel <= kLargestStep;
    const auto size = sound ? window_count(x[i + 2], c.begin[i], c.end[i], c.dilation[i] * (kernel - 1) + 1,
                                           c.stride[i], false)
                            : std::nullopt;
    if (!size) {
      check.fail("dimension " + std::to_string(i + 2) + " of x (" + to_string(x[i + 2]) +
                 ") can't be convolved with a kernel of " + std::to_string(kernel));
      return {};
    }
    y.push_back(*size);
  }
  return y;
}

/// Outputs dweight and, if the attribute `bias` is set, dbias.
bool weight_gradients(StepCheck& check) { return check.outputs(check.boolean("bias") ? 2 : 1); }

/// The attributes and the shape of x and its channels' vectors, in both passes of a batch norm. False on
/// failure.
bool batch_norm(StepCheck& check) {
  check.attributes({"eps"}, {"activation"});
  check.activation();
  if (check.failed()) return false;
  const Json& attributes = check.step().attributes;
  if (!attributes["eps"].is_number() || !(attributes["eps"].get<double>() >= 0))
    check.fail("'eps' must be a number, at least 0");
  if (attributes.contains("activation") && attributes["activation"]["kind"] != "relu")
    check.fail("only 'relu' goes with '" + check.step().op + "'");
  if (const Shape& x = check.input(0).shape; x.size() < 2 || x.size() > 5 || !x[1].is_static())
    check.fail("'" + check.input(0).name + "' has shape " + to_string(x) + "; expected [N, C, …]");
  return !check.failed();
}

}  // namespace

void check_conv_backward_data(StepCheck& check) {
  check.attributes({"stride", "padding_begin", "padding_end", "dilation", "groups", "size"});
  check.floating();
  if (!check.roles({"dy", "weight"}) || !check.outputs(1)) return;
  const Value& dy = check.input(0);
  const std::vector<int64_t> weight = check.static_dims(*check.operand("weight"));
  const size_t spatial = spatial_dims(check, dy);
  check.rank(*check.operand("weight"), dy.shape.size());
  if (check.failed()) return;
  const Convolution c = read_convolution(check, spatial);
  const auto size = check.integers("size", spatial, 1, kLargestDim);
  if (check.failed()) return;
  Shape x = {dy.shape[0], Extent(weight[1]) * c.groups};
  for (const int64_t dim : size) x.push_back(Extent(dim));
  const Shape expected = convolved(check, c, x, weight);
  if (check.failed()) return;
  check.shape(dy, expected);
  check.shape(check.output(0), x);
}

void check_conv_backward_weight(StepCheck& check) {
  check.attributes({"stride", "padding_begin", "padding_end", "dilation", "groups", "kernel_size", "bias"});
  check.floating();
  if (!check.roles({"x", "dy"}) || !weight_gradients(check)) return;
  const Value& x = check.input(0);
  const Value& dy = *check.operand("dy");
  const size_t spatial = spatial_dims(check, dy);
  check.rank(x, dy.shape.size());
  if (check.failed()) return;
  const Convolution c = read_convolution(check, spatial);
  const auto kernel = check.integers("kernel_size", spatial, 1, kLargestStep);
  if (check.failed()) return;
  if (!x.shape[1].is_static() || !dy.shape[1].is_static())
    return check.fail("channels may not depend on the batch");
  std::vector<int64_t> weight = {dy.shape[1].constant, x.shape[1].constant / c.groups};
  weight.insert(weight.end(), kernel.begin(), kernel.end());
  const Shape expected = convolved(check, c, x.shape, weight);
  if (check.failed()) return;
  check.shape(dy, expected);
  check.shape(check.output(0), Shape(weight.begin(), weight.end()));
  if (check.step().outputs.size() > 1) check.shape(check.output(1), {Extent(weight[0])});
}

void check_linear_backward_data(StepCheck& check) {
  check.attributes({});
  check.floating();
  if (!check.roles({"dy", "weight"}) || !check.outputs(1)) return;
  const Value& dy = check.input(0);
  check.rank(*check.operand("weight"), 2);
  const std::vector<int64_t> weight = check.static_dims(*check.operand("weight"));
  if (check.failed()) return;
  if (dy.shape.empty() || dy.shape.back() != Extent(weight[0]))
    return check.fail("'" + dy.name + "' has shape " + to_string(dy.shape) + "; its last dimension must be " +
                      std::to_string(weight[0]));
  Shape expected = dy.shape;
  expected.back() = Extent(weight[1]);
  check.shape(check.output(0), expected);
}

void check_linear_backward_weight(StepCheck& check) {
  check.attributes({"bias"});
  check.floating();
  if (!check.roles({"x", "dy"}) || !weight_gradients(check)) return;
  const Shape& x = check.input(0).shape;
  const Value& dy = *check.operand("dy");
  if (x.empty() || dy.shape.empty())
    return check.fail("'linear_backward_weight' needs at least one dimension");
  Shape expected = x;
  expected.back() = dy.shape.back();
  check.shape(dy, expected);
  check.shape(check.output(0), {dy.shape.back(), x.back()});
  if (check.step().outputs.size() > 1) check.shape(check.output(1), {dy.shape.back()});
}

void check_batch_norm_train(StepCheck& check) {
  const bool relu = check.step().attributes.contains("activation");
  if (!check.roles({"x"}, {"weight", "bias"}) || !check.outputs(relu ? 4 : 3)) return;
  check.floating_beside_workspace(relu ? 3 : -1);
  if (!batch_norm(check)) return;
  const Shape& x = check.input(0).shape;
  if (!check.operand("weight") != !check.operand("bias")) check.fail("'weight' and 'bias' come together");
  for (const char* role : {"weight", "bias"})
    if (const Value* value = check.operand(role)) check.shape(*value, {x[1]});
  check.shape(check.output(0), x);
  check.shape(check.output(1), {x[1]});
  check.shape(check.output(2), {x[1]});
}

void check_batch_norm_backward(StepCheck& check) {
  const bool relu = check.step().attributes.contains("activation");
  if (!check.roles({"x", "dy", "mean", "var"}, {"weight", "workspace"})) return;
  if (!check.outputs(check.operand("weight") ? 3 : 1)) return;
  check.floating_beside_workspace(-1);
  if (!batch_norm(check)) return;
  if (relu != (check.operand("workspace") != nullptr)) check.fail("a workspace comes with 'activation'");
  const Shape& x = check.input(0).shape;
  for (const char* role : {"mean", "var", "weight"})
    if (const Value* value = check.operand(role)) check.shape(*value, {x[1]});
  check.shape(*check.operand("dy"), x);
  check.shape(check.output(0), x);
  for (size_t i = 1; i < check.step().outputs.size(); ++i) check.shape(check.output(i), {x[1]});
}

}  // namespace sheaf
