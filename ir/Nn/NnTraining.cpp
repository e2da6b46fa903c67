// Shapes and splitting of the training forms of linear layers and batch norm.
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

LogicalResult LinearBackwardDataOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &dy = operands[0], &weight = operands[1];
  if (weight.rank() != 2) return emitError("expects a weight [out, in], but got ") << ir::to_string(weight);
  if (dy.rank() < 1 || !ir::may_be_equal(dy.dims.back(), weight.dims[0]))
    return emitError("expects a gradient of ") << sheaf::to_string(weight.dims[0]) << " features, but got " << ir::to_string(dy);
  TensorShape dx = dy;
  dx.dims.back() = weight.dims[1];
  results.push_back(dx);
  return success();
}
std::optional<int64_t> LinearBackwardDataOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return operand == 0 && dim < rank - 1 ? std::optional<int64_t>(dim) : std::nullopt;
}

LogicalResult LinearBackwardWeightOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &x = operands[0], &dy = operands[1];
  if (x.rank() < 1 || dy.rank() < 1) return emitError("expects an input and a gradient of at least one dimension");
  TensorShape expected = x;
  expected.dims.back() = dy.dims.back();
  if (failed(require_fit(*this, expected, dy, "a gradient"))) return failure();
  if (getBias() != static_cast<bool>(getDbias())) return emitError("expects a second result where 'bias' is true, and only there");
  results.push_back({sum_type(x.element), {dy.dims.back(), x.dims.back()}});
  if (getBias()) results.push_back({sum_type(x.element), {dy.dims.back()}});
  return success();
}
/// A sum over the rows.
std::optional<int64_t> LinearBackwardWeightOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }

/// Relu is the only activation that batch norm takes in.
static LogicalResult check_activation(Operation* op, DictionaryAttr activation, bool workspace) {
  auto kind = activation ? activation.getAs<StringAttr>("kind") : StringAttr();
  if (activation && (!kind || kind.getValue() != "relu")) return op->emitError("takes in no activation but relu");
  if (workspace != static_cast<bool>(activation)) return op->emitError("expects a workspace with an activation, and only then");
  return success();
}

static LogicalResult check_channels(Operation* op, const TensorShape& x) {
  if (x.rank() < 2) return op->emitError("expects an input of at least 2 dimensions, but got ") << ir::to_string(x);
  return success();
}

LogicalResult BatchNormTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (failed(require_float(*this, operands)) || failed(check_channels(*this, x)) ||
      failed(check_activation(*this, getActivationAttr(), static_cast<bool>(getWorkspace()))))
    return failure();
  if (static_cast<bool>(getWeight()) != static_cast<bool>(getBias())) return emitError("expects a weight and a bias, or neither");
  if (failed(require_vectors(*this, operands.drop_front(), x.dims[1]))) return failure();
  results.push_back(x);
  results.append(2, {sum_type(x.element), {x.dims[1]}});
  if (getActivation()) results.push_back(workspace_shape(getContext()));
  return success();
}
/// y is cut as x is: each replica normalises with the statistics of its own chunk, which is what DataParallel means.
std::optional<int64_t> BatchNormTrainOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  return operand == 0 && dim != 1 ? std::optional<int64_t>(dim) : std::nullopt;
}

LogicalResult BatchNormBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (failed(require_float(*this, operands.take_front(4))) || failed(check_channels(*this, x)) ||
      failed(check_activation(*this, getActivationAttr(), static_cast<bool>(getWorkspace()))) ||
      failed(require_fit(*this, x, operands[1], "a gradient")) ||
      failed(require_vectors(*this, operands.slice(2, getWeight() ? 3 : 2), x.dims[1])))
    return failure();
  if (getParameters().size() != (getWeight() ? 2 : 0))
    return emitError("expects gradients of weight and bias where there is a weight, and only there");
  results.push_back(x);
  results.append(getParameters().size(), {sum_type(x.element), {x.dims[1]}});
  return success();
}
std::optional<int64_t> BatchNormBackwardOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  return operand < 2 && dim != 1 ? std::optional<int64_t>(dim) : std::nullopt;
}
