// Linear layers and matrix products, and their gradients.
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

/// The operand `weight`, [out, in].
Result<Shape> weight_of(const OpShapes& op) {
  const Shape& weight = op.operand("weight");
  if (weight.size() == 2 && weight[0].is_static() && weight[1].is_static()) return weight;
  return Error("expects a weight [out, in], but got " + to_string(weight));
}

Result<ResultShapes> linear(const OpShapes& op) {
  SHEAF_ASSIGN(const Shape weight, weight_of(op));
  const Shape& x = op.operand("x");
  if (x.empty() || !may_equal(x.back(), weight[1]))
    return Error("expects " + to_string(weight[1]) + " input features, but the input is " + to_string(x));
  Shape y = x;
  y.back() = weight[0];
  const Shape* bias = op.find("bias");
  if (bias && !may_equal(*bias, Shape{weight[0]}))
    return Error("expects a bias of " + to_string(weight[0]) + " elements, but got " + to_string(*bias));
  const Shape* residual = op.find("residual");
  if (residual && !may_equal(*residual, y))
    return Error("expects a residual of shape " + to_string(y) + ", but got " + to_string(*residual));
  return ResultShapes{{std::move(y)}};
}

Result<ResultShapes> linear_backward_data(const OpShapes& op) {
  SHEAF_ASSIGN(const Shape weight, weight_of(op));
  const Shape& dy = op.operand("dy");
  if (dy.empty() || !may_equal(dy.back(), weight[0]))
    return Error("expects a gradient of " + to_string(weight[0]) + " features, but got " + to_string(dy));
  Shape dx = dy;
  dx.back() = weight[1];
  return ResultShapes{{std::move(dx)}};
}

Result<ResultShapes> linear_backward_weight(const OpShapes& op) {
  const Shape &x = op.operand("x"), &dy = op.operand("dy");
  if (x.empty() || dy.empty()) return Error("expects an input and a gradient of at least one dimension");
  Shape expected = x;
  expected.back() = dy.back();
  if (!may_equal(expected, dy))
    return Error("expects a gradient of shape " + to_string(expected) + ", but got " + to_string(dy));
  ResultShapes results = {{{dy.back(), x.back()}, ResultShape::sums}};
  if (op.flag("bias")) results.push_back({{dy.back()}, ResultShape::sums});
  return results;
}

/// A dimension of a broadcast; none if the two don't go together.
std::optional<Extent> broadcast(const Extent& a, const Extent& b) {
  if (a == Extent(1)) return b;
  if (b == Extent(1) || may_equal(a, b)) return a;
  return std::nullopt;
}

/// torch.matmul: a vector is a row on the left and a column on the right, and its extra dimension goes away.
Result<ResultShapes> matmul(const OpShapes& op) {
  Shape a = op.operand("a"), b = op.operand("b");
  const auto misfit = [&] {
    return Error("expects matrices that fit, as torch.matmul, but got " + to_string(a) + " and " + to_string(b));
  };
  if (a.empty() || b.empty()) return misfit();
  const bool row = a.size() == 1, column = b.size() == 1;
  if ((op.flag("transpose_a") && row) || (op.flag("transpose_b") && column)) return Error("cannot transpose a vector");
  if (op.flag("transpose_a")) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (op.flag("transpose_b")) std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (!may_equal(a.back(), column ? b[0] : b[b.size() - 2])) return misfit();
  const size_t a_batch = row ? 0 : a.size() - 2, b_batch = column ? 0 : b.size() - 2, batch = std::max(a_batch, b_batch);
  Shape y;
  for (size_t i = 0; i < batch; ++i) {
    const auto both = broadcast(i + a_batch >= batch ? a[i + a_batch - batch] : Extent(1),
                                i + b_batch >= batch ? b[i + b_batch - batch] : Extent(1));
    if (!both) return misfit();
    y.push_back(*both);
  }
  if (!row) y.push_back(a[a.size() - 2]);
  if (!column) y.push_back(b.back());
  return ResultShapes{{std::move(y)}};
}

double last(std::span<const int64_t> dims) { return dims.empty() ? 0 : static_cast<double>(dims.back()); }

double linear_flops(const SizedOp& op) { return 2 * op.output_elements() * last(op.input("weight")) + epilogue_flops(op); }
double data_flops(const SizedOp& op) {
  const auto weight = op.input("weight");
  return weight.empty() ? 0 : 2 * op.output_elements() * static_cast<double>(weight[0]);
}
double weight_flops(const SizedOp& op) { return 2 * op.input_elements("dy") * last(op.input("x")) + bias_gradient_flops(op); }

double matmul_flops(const SizedOp& op) {
  if (op.inputs.empty() || op.inputs[0].empty()) return 0;
  const auto a = op.inputs[0];
  const bool transposed = op.attributes.value("transpose_a", false) && a.size() > 1;
  return 2 * op.output_elements() * static_cast<double>(transposed ? a[a.size() - 2] : a.back());
}

constexpr RoleRow kLinearRoles[] = {{"x"}, {"weight"}, {"bias", true}, {"residual", true}}, kDataRoles[] = {{"dy"}, {"weight"}},
                  kWeightRoles[] = {{"x"}, {"dy"}}, kMatmulRoles[] = {{"a"}, {"b"}};
constexpr AttributeRow kLinear[] = {{AttributeRow::activation, "activation", 0, 0, true}},
                       kWeight[] = {{AttributeRow::flag, "bias"}},
                       kMatmul[] = {{AttributeRow::flag, "transpose_a", 0, 0, true},
                                    {AttributeRow::flag, "transpose_b", 0, 0, true}};

constexpr OpTraits kRows[] = {
    {.op = Op::linear,
     .source = Source::library,
     .roles = kLinearRoles,
     .attributes = kLinear,
     .shapes = linear,
     .flops = linear_flops,
     .adds = Adds::products},
    {.op = Op::linear_backward_data,
     .source = Source::library,
     .pass = Pass::backward,
     .roles = kDataRoles,
     .shapes = linear_backward_data,
     .flops = data_flops,
     .adds = Adds::products,
     .sums_rows = true},
    {.op = Op::linear_backward_weight,
     .source = Source::library,
     .pass = Pass::backward,
     .roles = kWeightRoles,
     .attributes = kWeight,
     .shapes = linear_backward_weight,
     .flops = weight_flops,
     .adds = Adds::products,
     .sums_rows = true},
    {.op = Op::matmul,
     .source = Source::library,
     .roles = kMatmulRoles,
     .attributes = kMatmul,
     .shapes = matmul,
     .flops = matmul_flops,
     .adds = Adds::products,
     .sums_rows = true},
};

}  // namespace

std::span<const OpTraits> linear_ops() { return kRows; }

}  // namespace sheaf
