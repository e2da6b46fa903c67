#include "runtime/ops/pooling.h"

#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

std::vector<SlidingWindow> windows_of(const OpShapes& op) {
  const auto padding = op.integers("padding");
  return sliding_windows(op.integers("kernel_size"), op.integers("stride"),
                         op.has("dilation") ? op.integers("dilation") : std::vector<int64_t>(), padding, padding,
                         op.flag("ceil_mode"));
}

Result<ResultShapes> pool(const OpShapes& op) {
  SHEAF_ASSIGN(auto y, pooled_shape(op.operand("x"), windows_of(op), op.unbatched));
  ResultShapes results = {{std::move(y)}};
  if (traits(op.op).pass == Pass::training) results.push_back(workspace_result());
  return results;
}

/// x's shape: dy's with the spatial sizes of the attribute `size`.
Result<Shape> before_pooling(const OpShapes& op) {
  const auto size = op.integers("size");
  Shape x = op.operand("dy");
  SHEAF_TRY(check_image(x, size.size(), op.unbatched, "a gradient"));
  for (size_t i = 0; i < size.size(); ++i) x[x.size() - size.size() + i] = Extent(size[i]);
  return x;
}

Result<ResultShapes> pool_backward(const OpShapes& op) {
  SHEAF_ASSIGN(auto x, before_pooling(op));
  SHEAF_ASSIGN(auto y, pooled_shape(x, windows_of(op), op.unbatched));
  if (!may_equal(y, op.operand("dy")))
    return Error("expects a gradient of shape " + to_string(y) + ", but got " + to_string(op.operand("dy")));
  return ResultShapes{{std::move(x)}};
}

/// A pool to sizes that are given takes elements to make at least one of; a size that depends on the batch stays as it is.
Result<void> check_adaptive(const Shape& x, const Shape& y) {
  for (size_t i = 2; i < x.size(); ++i) {
    const bool empty = x[i].is_static() && x[i].constant == 0, sized = y[i].is_static() && y[i].constant >= 1;
    if (empty || (!sized && !may_equal(x[i], y[i]))) return Error("can't pool " + to_string(x) + " to " + to_string(y));
  }
  return {};
}

/// An adaptive pool's sizes are those of its result; to the compiler, those of `output_size`, where -1 keeps the input's.
Result<ResultShapes> adaptive_pool(const OpShapes& op) {
  const Shape& x = op.operand("x");
  Shape y = x;
  if (op.has("output_size")) {
    const auto size = op.integers("output_size");
    SHEAF_TRY(check_image(x, size.size(), op.unbatched, "an input"));
    for (size_t i = 0; i < size.size(); ++i)
      if (size[i] >= 0) y[x.size() - size.size() + i] = Extent(size[i]);
  } else {
    if (x.size() < 3 || x.size() > 5 || op.results.empty() || op.results[0].size() != x.size())
      return Error("expects an input and a result of 3 to 5 dimensions, but got " + to_string(x));
    std::copy(op.results[0].begin() + 2, op.results[0].end(), y.begin() + 2);
  }
  SHEAF_TRY(check_adaptive(x, y));
  return ResultShapes{{std::move(y)}};
}

Result<ResultShapes> adaptive_pool_backward(const OpShapes& op) {
  SHEAF_ASSIGN(auto x, before_pooling(op));
  SHEAF_TRY(check_adaptive(x, op.operand("dy")));
  return ResultShapes{{std::move(x)}};
}

/// Elements of a window.
double window(const SizedOp& op) {
  double result = 1;
  for (const auto& size : op.attributes.at("kernel_size")) result *= size.get<double>();
  return result;
}

double pool_flops(const SizedOp& op) { return window(op) * op.output_elements(); }

constexpr RoleRow kX[] = {{"x"}}, kGradient[] = {{"dy"}}, kGradientOfMaximum[] = {{"dy"}, {"workspace"}};

#define SHEAF_WINDOW                                                                                                       \
  {AttributeRow::per_dimension, "kernel_size", 1, kLargestStep}, {AttributeRow::per_dimension, "stride", 1, kLargestStep}, \
      {AttributeRow::per_dimension, "padding", 0, kLargestStep}, {AttributeRow::flag, "ceil_mode"}
#define SHEAF_DIVISOR \
  {AttributeRow::flag, "count_include_pad"}, { AttributeRow::integer, "divisor_override", INT32_MIN, INT32_MAX }
#define SHEAF_DILATION {AttributeRow::per_dimension, "dilation", 1, kLargestStep}
#define SHEAF_SIZE {AttributeRow::per_dimension, "size", 1, kLargestSize}

constexpr AttributeRow kMaximum[] = {SHEAF_WINDOW, SHEAF_DILATION},
                       kMaximumBackward[] = {SHEAF_WINDOW, SHEAF_DILATION, SHEAF_SIZE},
                       kAverage[] = {SHEAF_WINDOW, SHEAF_DIVISOR},
                       kAverageBackward[] = {SHEAF_WINDOW, SHEAF_DIVISOR, SHEAF_SIZE}, kSize[] = {SHEAF_SIZE},
                       kOutputSize[] = {{AttributeRow::per_dimension, "output_size", -1, kLargestSize, true, true}};

constexpr OpTraits kRows[] = {
    {.op = Op::max_pool,
     .source = Source::library,
     .roles = kX,
     .attributes = kMaximum,
     .shapes = pool,
     .flops = pool_flops,
     .training = Op::max_pool_train},
    {.op = Op::max_pool_train,
     .source = Source::library,
     .pass = Pass::training,
     .roles = kX,
     .attributes = kMaximum,
     .shapes = pool,
     .flops = pool_flops,
     .sums_rows = true},
    {.op = Op::max_pool_backward,
     .source = Source::library,
     .pass = Pass::backward,
     .roles = kGradientOfMaximum,
     .attributes = kMaximumBackward,
     .shapes = pool_backward,
     .flops = [](const SizedOp& op) { return op.input_elements("dy"); },
     .sums_rows = true},
    {.op = Op::avg_pool,
     .source = Source::library,
     .roles = kX,
     .attributes = kAverage,
     .shapes = pool,
     .flops = pool_flops,
     .adds = Adds::elements},
    {.op = Op::avg_pool_backward,
     .source = Source::library,
     .pass = Pass::backward,
     .roles = kGradient,
     .attributes = kAverageBackward,
     .shapes = pool_backward,
     .flops = [](const SizedOp& op) { return window(op) * op.input_elements("dy"); },
     .adds = Adds::elements,
     .sums_rows = true},
    {.op = Op::adaptive_avg_pool,
     .source = Source::library,
     .roles = kX,
     .attributes = kOutputSize,
     .shapes = adaptive_pool,
     .flops = [](const SizedOp& op) { return op.first_input_elements(); },
     .adds = Adds::elements},
    {.op = Op::adaptive_avg_pool_backward,
     .source = Source::library,
     .pass = Pass::backward,
     .roles = kGradient,
     .attributes = kSize,
     .shapes = adaptive_pool_backward,
     .flops = [](const SizedOp& op) { return op.output_elements(); },
     .adds = Adds::elements,
     .sums_rows = true},
};

}  // namespace

bool takes_maximum(Op op) {
  const OpTraits& row = traits(op);
  const auto is_workspace = [](const RoleRow& role) { return role.name == kWorkspaceRole; };
  // Its gradient wants to know where a maximum was.
  return row.training || row.pass == Pass::training || std::any_of(row.roles.begin(), row.roles.end(), is_workspace);
}

bool is_adaptive(Op op) { return traits(op).shapes == adaptive_pool || traits(op).shapes == adaptive_pool_backward; }

Result<void> check_pool_padding(const SlidingWindow& window) {
  if (std::max(window.padding_begin, window.padding_end) <= window.span() / 2) return {};
  return Error("must be at most half of the window of " + std::to_string(window.span()) + ", found " +
               std::to_string(std::max(window.padding_begin, window.padding_end)));
}

Result<Shape> pooled_shape(const Shape& x, std::span<const SlidingWindow> windows, bool unbatched) {
  SHEAF_TRY(check_image(x, windows.size(), unbatched, "an input"));
  for (const SlidingWindow& window : windows)
    if (auto fits = check_pool_padding(window); !fits) return Error("'padding' " + fits.error().message());
  return places_in(x, windows);
}

std::span<const OpTraits> poolings() { return kRows; }

}  // namespace sheaf
