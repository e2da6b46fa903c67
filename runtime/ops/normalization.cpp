// Batch norm of a training step. (In inference it is folded or a generated kernel.)
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

Result<void> check_norm(const OpShapes& op, std::initializer_list<std::string_view> vectors) {
  const Shape& x = op.operand("x");
  if (x.size() < 2 || x.size() > 5 || !(x[1].is_static() || is_unknown(x[1])))
    return Error("expects an input [N, C, …] of 2 to 5 dimensions, but got " + to_string(x));
  if (op.has("activation") && op.attributes["activation"]["kind"] != "relu") return Error("takes in no activation but relu");
  for (const std::string_view role : vectors)
    if (const Shape* vector = op.find(role); vector && !may_equal(*vector, Shape{x[1]}))
      return Error("expects " + to_string(x[1]) + " channels, but a statistic or parameter has shape " + to_string(*vector));
  return {};
}

Result<ResultShapes> train(const OpShapes& op) {
  if (!op.find("weight") != !op.find("bias")) return Error("expects a weight and a bias, or neither");
  SHEAF_TRY(check_norm(op, {"weight", "bias"}));
  const Shape& x = op.operand("x");
  ResultShapes results = {{x}, {{x[1]}, ResultShape::sums}, {{x[1]}, ResultShape::sums}};
  if (op.has("activation")) results.push_back(workspace_result());
  return results;
}

Result<ResultShapes> backward(const OpShapes& op) {
  if (op.has("activation") != (op.find("workspace") != nullptr))
    return Error("expects a workspace with an activation, and only then");
  const Shape &x = op.operand("x"), &dy = op.operand("dy");
  SHEAF_TRY(check_norm(op, {"mean", "var", "weight"}));
  if (!may_equal(x, dy)) return Error("expects a gradient of shape " + to_string(x) + ", but got " + to_string(dy));
  ResultShapes results = {{x}};
  if (op.find("weight")) results.insert(results.end(), 2, {{x[1]}, ResultShape::sums});
  return results;
}

/// Mean (1), variance (3), x̂·γ + β (2 once the channel's factors are known).
double train_flops(const SizedOp& op) { return (6 + activation_flops(op.attributes)) * op.first_input_elements(); }
/// x̂ (2), Σdy (1), Σdy·x̂ (2), dx = a·dy + b·x̂ + c (4); the mask of a relu (1).
double backward_flops(const SizedOp& op) {
  return (9 + (op.attributes.contains("activation") ? 1 : 0)) * op.first_input_elements();
}

constexpr RoleRow kTrainRoles[] = {{"x"}, {"weight", true}, {"bias", true}},
                  kBackwardRoles[] = {{"x"}, {"dy"}, {"mean"}, {"var"}, {"weight", true}, {"workspace", true}};
constexpr AttributeRow kNorm[] = {{AttributeRow::number, "eps", 0}, {AttributeRow::activation, "activation", 0, 0, true}};

constexpr OpTraits kRows[] = {
    {.op = Op::batch_norm_train,
     .source = Source::library,
     .pass = Pass::training,
     .roles = kTrainRoles,
     .attributes = kNorm,
     .shapes = train,
     .flops = train_flops,
     .sums_rows = true,
     .centred = true},
    {.op = Op::batch_norm_backward,
     .source = Source::library,
     .pass = Pass::backward,
     .roles = kBackwardRoles,
     .attributes = kNorm,
     .shapes = backward,
     .flops = backward_flops,
     .sums_rows = true},
};

}  // namespace

std::span<const OpTraits> normalizations() { return kRows; }

}  // namespace sheaf
