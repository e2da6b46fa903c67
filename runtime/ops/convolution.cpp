#include "runtime/ops/convolution.h"

#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

/// A weight's sizes over space, which no batch may change.
Result<std::vector<int64_t>> kernel_sizes(const Shape& weight, size_t spatial) {
  std::vector<int64_t> sizes;
  if (weight.size() != spatial + 2)
    return Error("expects a weight of " + std::to_string(spatial + 2) + " dimensions, but got " + to_string(weight));
  for (size_t i = 0; i < spatial; ++i) {
    const Extent& size = weight[i + 2];
    if (!size.is_static() || size.constant < 1 || size.constant > kLargestStep)
      return Error("expects a kernel of sizes from 1 to " + std::to_string(kLargestStep) + ", but the weight is " +
                   to_string(weight));
    sizes.push_back(size.constant);
  }
  return sizes;
}

std::vector<SlidingWindow> windows_of(const OpShapes& op, std::span<const int64_t> kernel) {
  return sliding_windows(kernel, op.integers("stride"), op.integers("dilation"), op.integers("padding_begin"),
                         op.integers("padding_end"), false);
}

Result<void> check_channels(const Shape& x, size_t spatial, const Extent& channels) {
  if (may_equal(x[x.size() - spatial - 1], channels)) return {};
  return Error("expects " + to_string(channels) + " input channels, but the input is " + to_string(x));
}

Result<void> check_epilogue(const OpShapes& op, const Extent& channels, const Shape& y) {
  const Shape* bias = op.find("bias");
  if (bias && !may_equal(*bias, Shape{channels}))
    return Error("expects a bias of " + to_string(channels) + " elements, but got " + to_string(*bias));
  const Shape* residual = op.find("residual");
  if (residual && !may_equal(*residual, y))
    return Error("expects a residual of shape " + to_string(y) + ", but got " + to_string(*residual));
  return {};
}

Result<ResultShapes> conv(const OpShapes& op) {
  const Shape &x = op.operand("x"), &weight = op.operand("weight");
  SHEAF_ASSIGN(auto kernel, kernel_sizes(weight, op.integers("stride").size()));
  SHEAF_ASSIGN(auto y, convolved_shape(x, weight, op.integer("groups"), windows_of(op, kernel), op.unbatched));
  SHEAF_TRY(check_epilogue(op, weight[0], y));
  return ResultShapes{{std::move(y)}};
}

/// torch.nn.ConvTranspose2d: (s - 1) · stride - 2 · padding + dilation · (kernel - 1) + output_padding + 1.
Result<ResultShapes> conv_transpose(const OpShapes& op) {
  const Shape &x = op.operand("x"), &weight = op.operand("weight");
  const auto stride = op.integers("stride"), padding = op.integers("padding"), added = op.integers("output_padding"),
             dilation = op.integers("dilation");
  const size_t spatial = stride.size();
  SHEAF_ASSIGN(auto kernel, kernel_sizes(weight, spatial));
  SHEAF_TRY(check_image(x, spatial, op.unbatched, "an input"));
  SHEAF_TRY(check_channels(x, spatial, weight[0]));
  if (weight[0].is_static() && weight[0].constant % op.integer("groups") != 0)
    return Error("expects channels divisible by " + std::to_string(op.integer("groups")) + " groups, but the weight is " +
                 to_string(weight));
  Shape y = x;
  const Extent channels = weight[1] * op.integer("groups");
  y[x.size() - spatial - 1] = channels;
  for (size_t i = 0; i < spatial; ++i) {
    if (added[i] >= std::max(stride[i], dilation[i])) return Error("'output_padding' must be smaller than stride or dilation");
    Extent& size = y[x.size() - spatial + i];
    if (is_unknown(size)) continue;
    size = (size + Extent(-1)) * stride[i] + Extent(dilation[i] * (kernel[i] - 1) + added[i] + 1 - 2 * padding[i]);
    if (size.is_static() && size.constant < 1)
      return Error("gives an output of size " + to_string(size) + " from an input of " + to_string(x));
  }
  SHEAF_TRY(check_epilogue(op, channels, y));
  return ResultShapes{{std::move(y)}};
}

Result<void> check_gradient(const Shape& y, const Shape& dy) {
  if (may_equal(y, dy)) return {};
  return Error("expects a gradient of shape " + to_string(y) + ", but got " + to_string(dy));
}

Result<ResultShapes> conv_backward_data(const OpShapes& op) {
  const Shape &dy = op.operand("dy"), &weight = op.operand("weight");
  const auto size = op.integers("size");
  SHEAF_ASSIGN(auto kernel, kernel_sizes(weight, size.size()));
  SHEAF_TRY(check_image(dy, size.size(), false, "a gradient"));
  Shape x = {dy[0], weight[1] * op.integer("groups")};
  x.insert(x.end(), size.begin(), size.end());
  SHEAF_ASSIGN(auto y, convolved_shape(x, weight, op.integer("groups"), windows_of(op, kernel)));
  SHEAF_TRY(check_gradient(y, dy));
  return ResultShapes{{std::move(x)}};
}

Result<ResultShapes> conv_backward_weight(const OpShapes& op) {
  const Shape &x = op.operand("x"), &dy = op.operand("dy");
  const auto kernel = op.integers("kernel_size");
  SHEAF_TRY(check_image(x, kernel.size(), false, "an input"));
  SHEAF_TRY(check_image(dy, kernel.size(), false, "a gradient"));
  const int64_t groups = op.integer("groups");
  if (!x[1].is_static() || !dy[1].is_static() || x[1].constant % groups != 0)
    return Error("expects channels divisible by " + std::to_string(groups) + " groups, but the input is " + to_string(x));
  Shape weight = {dy[1], Extent(x[1].constant / groups)};
  weight.insert(weight.end(), kernel.begin(), kernel.end());
  SHEAF_ASSIGN(auto y, convolved_shape(x, weight, groups, windows_of(op, kernel)));
  SHEAF_TRY(check_gradient(y, dy));
  ResultShapes results = {{std::move(weight), ResultShape::sums}};
  if (op.flag("bias")) results.push_back({{dy[1]}, ResultShape::sums});
  return results;
}

/// Elements of a weight [O, I, k…] for each entry of its first dimension: products in one sum.
double row(std::span<const int64_t> weight) { return weight.size() > 1 ? product(weight.subspan(1)) : 0; }

double conv_flops(const SizedOp& op) { return 2 * op.output_elements() * row(op.input("weight")) + epilogue_flops(op); }
double transpose_flops(const SizedOp& op) { return 2 * op.input_elements("x") * row(op.input("weight")) + epilogue_flops(op); }
double data_flops(const SizedOp& op) { return 2 * op.input_elements("dy") * row(op.input("weight")); }
double weight_flops(const SizedOp& op) {
  const double products = op.outputs.empty() ? 0 : row(op.outputs[0]);
  return 2 * op.input_elements("dy") * products + bias_gradient_flops(op);
}

constexpr RoleRow kRoles[] = {{"x"}, {"weight"}, {"bias", true}, {"residual", true}},
                  kTransposeRoles[] = {{"x"}, {"weight"}, {"bias", true}}, kDataRoles[] = {{"dy"}, {"weight"}},
                  kWeightRoles[] = {{"x"}, {"dy"}};

// clang-format off
#define SHEAF_GRID \
  {AttributeRow::per_dimension, "stride", 1, kLargestStep}, {AttributeRow::per_dimension, "dilation", 1, kLargestStep}, {AttributeRow::integer, "groups", 1, kLargestStep}
#define SHEAF_PADDING {AttributeRow::per_dimension, "padding_begin", 0, kLargestStep}, {AttributeRow::per_dimension, "padding_end", 0, kLargestStep}
// clang-format on
#define SHEAF_ACTIVATION {AttributeRow::activation, "activation", 0, 0, true}

constexpr AttributeRow kConv[] = {SHEAF_GRID, SHEAF_PADDING, SHEAF_ACTIVATION},
                       kTranspose[] = {SHEAF_GRID,
                                       {AttributeRow::per_dimension, "padding", 0, kLargestStep},
                                       {AttributeRow::per_dimension, "output_padding", 0, kLargestStep},
                                       SHEAF_ACTIVATION},
                       kData[] = {SHEAF_GRID, SHEAF_PADDING, {AttributeRow::per_dimension, "size", 1, kLargestSize}},
                       kWeight[] = {SHEAF_GRID,
                                    SHEAF_PADDING,
                                    {AttributeRow::per_dimension, "kernel_size", 1, kLargestStep},
                                    {AttributeRow::flag, "bias"}};

constexpr OpTraits kRows[] = {
    {.op = Op::conv,
     .source = Source::library,
     .roles = kRoles,
     .attributes = kConv,
     .shapes = conv,
     .flops = conv_flops,
     .adds = Adds::products},
    {.op = Op::conv_transpose,
     .source = Source::library,
     .roles = kTransposeRoles,
     .attributes = kTranspose,
     .shapes = conv_transpose,
     .flops = transpose_flops,
     .adds = Adds::products},
    {.op = Op::conv_backward_data,
     .source = Source::library,
     .pass = Pass::backward,
     .roles = kDataRoles,
     .attributes = kData,
     .shapes = conv_backward_data,
     .flops = data_flops,
     .adds = Adds::products,
     .sums_rows = true},
    {.op = Op::conv_backward_weight,
     .source = Source::library,
     .pass = Pass::backward,
     .roles = kWeightRoles,
     .attributes = kWeight,
     .shapes = conv_backward_weight,
     .flops = weight_flops,
     .adds = Adds::products,
     .sums_rows = true},
};

}  // namespace

Result<Shape> convolved_shape(const Shape& x, const Shape& weight, int64_t groups, std::span<const SlidingWindow> windows,
                              bool unbatched) {
  SHEAF_TRY(check_image(x, windows.size(), unbatched, "an input"));
  SHEAF_TRY(check_channels(x, windows.size(), weight[1] * groups));
  if (weight[0].is_static() && weight[0].constant % groups != 0)
    return Error("expects channels divisible by " + std::to_string(groups) + " groups, but the weight is " + to_string(weight));
  auto y = places_in(x, windows);
  if (y) (*y)[x.size() - windows.size() - 1] = weight[0];
  return y;
}

std::span<const OpTraits> convolutions() { return kRows; }

}  // namespace sheaf
