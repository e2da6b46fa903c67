// Shapes, splitting and the dual of CTC losses.
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

LogicalResult require_integers(Operation* op, const TensorShape& x, const char* what) {
  auto type = dyn_cast<IntegerType>(x.element);
  if (type && type.getWidth() >= 32) return success();
  return op->emitError("takes ") << what << " of type int64 or int32, but they are " << dtype_name(x.element);
}

/// 2S + 1 for targets [N, S].
std::optional<Extent> states_of(Operation* op, const TensorShape& targets) {
  const Extent& labels = targets.dims[1];
  if (labels.is_static() && labels.constant > 0) return Extent(2 * labels.constant + 1);
  if (labels.terms.count("?")) return Extent::symbol("?");
  op->emitError("takes targets of shape [batch, labels] with a known number of labels, but they are ") << to_string(targets);
  return std::nullopt;
}

}  // namespace

namespace sheaf::nn {

LogicalResult check_ctc(Operation* op, ArrayRef<TensorShape> operands) {
  const TensorShape &x = operands[0], &targets = operands[1];
  if (x.rank() != 3)
    return op->emitError("takes log probabilities of shape [time, batch, classes], but they are ") << to_string(x);
  if (failed(require_integers(op, targets, "targets")) || failed(require_integers(op, operands[2], "input lengths")) ||
      failed(require_integers(op, operands[3], "target lengths")))
    return failure();
  if (targets.rank() != 2 || !ir::may_be_equal(targets.dims[0], x.dims[1]))
    return op->emitError("takes targets of shape [batch, labels], padded to one length, for log probabilities ")
           << to_string(x) << ", but they are " << to_string(targets);
  for (const TensorShape& lengths : operands.drop_front(2))
    if (lengths.rank() != 1 || !ir::may_be_equal(lengths.dims[0], x.dims[1]))
      return op->emitError("takes a length for each row of log probabilities ")
             << to_string(x) << ", but they are " << to_string(lengths);
  return success(states_of(op, targets).has_value());
}

}  // namespace sheaf::nn

LogicalResult CtcLossOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_float(*this, operands.take_front(1))) || failed(check_ctc(*this, operands))) return failure();
  const TensorShape& x = operands[0];
  auto element = Float32Type::get(getContext());
  results.push_back({element, {x.dims[1]}});
  results.push_back({element, {x.dims[1], x.dims[0], *states_of(*this, operands[1])}});
  return success();
}
std::optional<int64_t> CtcLossOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  return dim == (operand == 0 ? 1 : 0) ? std::optional<int64_t>(0) : std::nullopt;
}
void CtcLossOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (!gradients.needed(0u) || !results[0]) return;
  SmallVector<Value> given = {results[0]};
  for (Value operand : getOperands()) given.push_back(gradients.forward(operand));
  given.push_back(gradients.forward(getAlphas()));
  auto alphas = cast<RankedTensorType>(getAlphas().getType());
  auto betas = RankedTensorType::get({alphas.getDimSize(0), alphas.getDimSize(2)}, alphas.getElementType());
  operands[0] =
      gradients.builder
          .create<CtcLossBackwardOp>(gradients.loc, TypeRange{getX().getType(), betas}, given[0], given[1], given[2], given[3],
                                     given[4], given[5], getBlankAttr(), getZeroInfinityAttr(), getByLengthAttr())
          .getDx();
}

LogicalResult CtcLossBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(check_ctc(*this, operands.slice(1, 4)))) return failure();
  results.push_back(operands[1]);
  results.push_back({operands[0].element, {operands[1].dims[1], *states_of(*this, operands[2])}});
  return success();
}
/// The two results have their rows in different dimensions.
std::optional<int64_t> CtcLossBackwardOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }
