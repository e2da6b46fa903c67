// Shapes of losses and constants.
#include "ir/Nn/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

/// x [N, C, d…] with target [N, d…]; x [C] with target [].
static LogicalResult check_classes(LossOp op, const TensorShape& x, const TensorShape& target) {
  auto integers = dyn_cast<IntegerType>(target.element);
  if (!integers || integers.getWidth() < 32)
    return op.emitError("takes class indices of type int64 or int32 as its target; its target is ") << target.element;
  TensorShape expected{target.element, {}};
  int64_t class_dim = x.rank() > 1 ? 1 : 0;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i != class_dim) expected.dims.push_back(x.dims[i]);
  if (x.rank() == 0 || !x.dims[class_dim].is_static())
    return op.emitError("takes scores of shape [batch, classes, …], but they are ") << to_string(x);
  if (!may_fit(expected, target))
    return op.emitError("takes scores of shape ") << to_string(x) << " with a target of shape " << to_string(expected)
                                                  << ", but the target is " << to_string(target);
  return success();
}

LogicalResult LossOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &x = operands[0], &target = operands[1];
  if (!isa<FloatType>(x.element)) return emitError("takes a value of floating point, but it is ") << x.element;
  if (getKind() == "CrossEntropyLoss" || getKind() == "NLLLoss") {
    if (failed(check_classes(*this, x, target))) return failure();
  } else {
    if (!isa<FloatType>(target.element)) return emitError("takes a target of floating point, but it is ") << target.element;
    if (!may_fit(x, target))
      return emitError("takes a value and a target of one shape, but they are ") << to_string(x) << " and " << to_string(target);
  }
  results.push_back({x.element, {}});
  return success();
}

/// A loss is one number for all rows.
std::optional<int64_t> LossOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }

LogicalResult FillOp::inferShapes(ArrayRef<TensorShape>, SmallVectorImpl<TensorShape>& results) {
  results.push_back({Float32Type::get(getContext()), {}});
  return success();
}

Value FillOp::buildScalar(OpBuilder& builder, Location loc, ValueRange) {
  return builder.create<arith::ConstantOp>(loc, builder.getF32FloatAttr(getValue().convertToDouble()));
}
