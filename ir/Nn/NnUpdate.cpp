// Shapes and scalar definitions of running statistics and optimisers. The arithmetic is in ir/ScalarOptimizers.cpp.
#include "ir/Nn/ShapeRules.h"
#include "ir/ScalarArithmetic.h"

using namespace mlir;
namespace ir = sheaf::ir;
namespace scalar = sheaf::ir::scalar;
using namespace sheaf::nn;
using ir::TensorShape;

/// The first `tensors` operands and the result have one shape; the others are scalars.
static LogicalResult update_shape(Operation* op, unsigned tensors, ArrayRef<TensorShape> operands,
                                  SmallVectorImpl<TensorShape>& results) {
  if (failed(require_float(op, operands.take_front(tensors)))) return failure();
  for (const TensorShape& tensor : operands.take_front(tensors))
    if (failed(require_fit(op, operands[0], tensor, "tensors"))) return failure();
  for (const TensorShape& setting : operands.drop_front(tensors))
    if (failed(require_scalar(op, setting, "a setting"))) return failure();
  results.push_back(operands[0]);
  return success();
}

/// The gradient an optimiser works with: negated to maximise, plus the weight decay.
static Value gradient(OpBuilder& b, Location loc, Value g, Value p, double weight_decay, bool maximize) {
  if (maximize) g = scalar::neg(b, loc, g);
  return weight_decay != 0 ? scalar::penalised_gradient(b, loc, g, p, weight_decay) : g;
}

#define SHEAF_SCALAR(OP) Value OP::buildScalar(OpBuilder& b, Location loc, ValueRange in)
#define SHEAF_SHAPE(OP) LogicalResult OP::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results)
#define SHEAF_SPLIT(OP)                                                              \
  std::optional<int64_t> OP::splitDim(unsigned operand, int64_t rank, int64_t dim) { \
    return aligned_split(*this, operand, rank, dim);                                 \
  }

SHEAF_SHAPE(AssignOp) {
  if (operands[0].element != operands[1].element)
    return emitError("expects a value of ") << operands[0].element << ", but got " << operands[1].element;
  return require_fit(*this, operands[0], operands[1], "a value");
}

SHEAF_SPLIT(RunningAverageOp)
SHEAF_SHAPE(RunningAverageOp) {
  if (static_cast<bool>(getMomentum()) == static_cast<bool>(getNumBatches()))
    return emitError("expects a momentum or a number of batches, and not both");
  if (getNumBatches() && !operands.back().element.isInteger(64)) return emitError("expects a number of batches of type int64");
  return update_shape(*this, 2, operands, results);
}
SHEAF_SCALAR(RunningAverageOp) {
  Value one = scalar::constant(b, loc, 1), stat = in[1];
  unsigned next = 2;
  if (getInverseCount()) stat = scalar::div(b, loc, stat, scalar::sub(b, loc, one, in[next++]));  // n / (n - 1)
  Value momentum = getMomentum() ? scalar::constant(b, loc, getMomentum()->convertToDouble())
                                 : scalar::div(b, loc, one, scalar::cast(b, loc, in[next], false, b.getF32Type(), false));
  return scalar::add(b, loc, scalar::mul(b, loc, scalar::sub(b, loc, one, momentum), in[0]),
                     scalar::mul(b, loc, momentum, stat));
}

SHEAF_SPLIT(IncrementOp)
SHEAF_SHAPE(IncrementOp) {
  if (!operands[0].element.isInteger(64)) return emitError("expects an int64, but got ") << operands[0].element;
  results.push_back(operands[0]);
  return success();
}
SHEAF_SCALAR(IncrementOp) {
  return b.create<arith::AddIOp>(loc, in[0], b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(1)));
}

SHEAF_SPLIT(AccumulateOp)
SHEAF_SHAPE(AccumulateOp) {
  if (!operands[2].element.isInteger(64))
    return emitError("expects a number of the micro-batch of type int64, but got ") << operands[2].element;
  return update_shape(*this, 2, operands, results);
}
SHEAF_SCALAR(AccumulateOp) {
  Value zero = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(0));
  Value first = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, in[2], zero);
  return b.create<arith::SelectOp>(loc, first, in[1], scalar::add(b, loc, in[0], in[1]));
}

SHEAF_SPLIT(ClipCoefficientOp)
SHEAF_SHAPE(ClipCoefficientOp) {
  if (failed(require_scalar(*this, operands[0], "a sum"))) return failure();
  return same_shape(*this, operands, results);
}
SHEAF_SCALAR(ClipCoefficientOp) { return scalar::clip_factor(b, loc, in[0], getMaxNorm().convertToDouble()); }

SHEAF_SPLIT(SgdMomentumOp)
SHEAF_SHAPE(SgdMomentumOp) { return update_shape(*this, 3, operands, results); }
bool SgdMomentumOp::operandIsRead(unsigned operand) {
  if (operand == 2) return !getWeightDecay().isZero();
  return operand != 3 || !getDampening().isZero();
}
SHEAF_SCALAR(SgdMomentumOp) {
  Value g = gradient(b, loc, in[1], in[2], getWeightDecay().convertToDouble(), getMaximize());
  Value step = getDampening().isZero() ? Value() : in[3];
  return scalar::sgd_momentum(b, loc, in[0], g, step, getMomentum().convertToDouble(), getDampening().convertToDouble());
}

SHEAF_SPLIT(SgdUpdateOp)
SHEAF_SHAPE(SgdUpdateOp) {
  if (failed(require_scalar(*this, operands[2], "a learning rate"))) return failure();
  SmallVector<TensorShape> tensors(operands.take_front(2));
  if (getBuffer()) tensors.push_back(operands[3]);
  return update_shape(*this, tensors.size(), tensors, results);
}
SHEAF_SCALAR(SgdUpdateOp) {
  Value direction = gradient(b, loc, in[1], in[0], getWeightDecay().convertToDouble(), getMaximize());
  if (getBuffer()) direction = scalar::sgd_nesterov(b, loc, direction, in[3], getMomentum().convertToDouble());
  return scalar::descend(b, loc, in[0], direction, in[2]);
}

SHEAF_SPLIT(AdamFirstMomentOp)
SHEAF_SHAPE(AdamFirstMomentOp) { return update_shape(*this, 3, operands, results); }
bool AdamFirstMomentOp::operandIsRead(unsigned operand) { return operand != 2 || !getWeightDecay().isZero(); }
SHEAF_SCALAR(AdamFirstMomentOp) {
  Value g = gradient(b, loc, in[1], in[2], getWeightDecay().convertToDouble(), getMaximize());
  return scalar::running_average(b, loc, in[0], g, getBeta().convertToDouble());
}

SHEAF_SPLIT(AdamSecondMomentOp)
SHEAF_SHAPE(AdamSecondMomentOp) { return update_shape(*this, 3, operands, results); }
bool AdamSecondMomentOp::operandIsRead(unsigned operand) { return operand != 2 || !getWeightDecay().isZero(); }
SHEAF_SCALAR(AdamSecondMomentOp) {
  Value g = gradient(b, loc, in[1], in[2], getWeightDecay().convertToDouble(), getMaximize());
  return scalar::running_square(b, loc, in[0], g, getBeta().convertToDouble());
}

SHEAF_SPLIT(AdamMaxOp)
SHEAF_SHAPE(AdamMaxOp) { return update_shape(*this, 2, operands, results); }
SHEAF_SCALAR(AdamMaxOp) { return scalar::running_maximum(b, loc, in[0], in[1]); }

SHEAF_SPLIT(BiasCorrectionOp)
SHEAF_SHAPE(BiasCorrectionOp) {
  if (!operands[0].element.isInteger(64))
    return emitError("expects a number of steps of type int64, but got ") << operands[0].element;
  if (failed(require_scalar(*this, operands[0], "a number of steps"))) return failure();
  double beta = getBeta().convertToDouble();
  if (!(beta >= 0 && beta < 1)) return emitError("expects a beta of at least 0 and below 1, but got ") << beta;
  results.push_back({Float32Type::get(getContext()), {}});
  return success();
}
SHEAF_SCALAR(BiasCorrectionOp) { return scalar::bias_correction(b, loc, in[0], getBeta().convertToDouble()); }

SHEAF_SPLIT(AdamUpdateOp)
SHEAF_SHAPE(AdamUpdateOp) { return update_shape(*this, 3, operands, results); }
SHEAF_SCALAR(AdamUpdateOp) {
  double decay = getWeightDecay().convertToDouble();
  Value p = decay != 0 ? scalar::decoupled_decay(b, loc, in[0], in[3], decay) : in[0];
  return scalar::adam_update(b, loc, p, in[1], in[2], in[3], in[4], in[5], getEps().convertToDouble());
}

SHEAF_SPLIT(RmspropDirectionOp)
SHEAF_SHAPE(RmspropDirectionOp) { return update_shape(*this, operands.size(), operands, results); }
bool RmspropDirectionOp::operandIsRead(unsigned operand) { return operand != 1 || !getWeightDecay().isZero(); }
SHEAF_SCALAR(RmspropDirectionOp) {
  Value g = gradient(b, loc, in[0], in[1], getWeightDecay().convertToDouble(), getMaximize());
  return scalar::rmsprop_direction(b, loc, g, in[2], getAverage() ? in[3] : Value(), getEps().convertToDouble());
}
