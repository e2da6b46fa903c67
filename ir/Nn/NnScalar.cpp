// Scalar definitions of element-wise ops: what one element of the result is. Generated kernels for every target
// are made from these, so they are the only place where an activation's arithmetic is written down.
// Comparisons are ordered so that NaN passes through, as in PyTorch.
#include "ir/Nn/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace sheaf::nn;

namespace {

/// Builds float arithmetic on scalars of one type with the least ceremony.
struct Scalars {
  OpBuilder& builder;
  Location loc;
  Type type;

  Value constant(double value) const {
    return builder.create<arith::ConstantOp>(loc, builder.getFloatAttr(type, value));
  }
  Value add(Value a, Value b) const { return builder.create<arith::AddFOp>(loc, a, b); }
  Value sub(Value a, Value b) const { return builder.create<arith::SubFOp>(loc, a, b); }
  Value mul(Value a, Value b) const { return builder.create<arith::MulFOp>(loc, a, b); }
  Value div(Value a, Value b) const { return builder.create<arith::DivFOp>(loc, a, b); }
  Value exp(Value a) const { return builder.create<math::ExpOp>(loc, a); }
  Value neg(Value a) const { return builder.create<arith::NegFOp>(loc, a); }
  /// `if_true` where a > b, else `if_false` (also where either is NaN).
  Value if_greater(Value a, Value b, Value if_true, Value if_false) const {
    Value test = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, a, b);
    return builder.create<arith::SelectOp>(loc, test, if_true, if_false);
  }
  /// `if_true` where a < b, else `if_false` (also where either is NaN).
  Value if_less(Value a, Value b, Value if_true, Value if_false) const {
    Value test = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, a, b);
    return builder.create<arith::SelectOp>(loc, test, if_true, if_false);
  }
  /// 1 / (1 + exp(-x)); exp overflows to infinity for x ≪ 0, which gives 0 as it should.
  Value sigmoid(Value x) const { return div(constant(1), add(constant(1), exp(neg(x)))); }
  Value rsqrt(Value x) const { return div(constant(1), builder.create<math::SqrtOp>(loc, x)); }
};

Scalars scalars(OpBuilder& builder, Location loc, ValueRange elements) {
  return {builder, loc, elements[0].getType()};
}

}  // namespace

#define SHEAF_SCALAR(OP) Value OP::buildScalar(OpBuilder& builder, Location loc, ValueRange in)

SHEAF_SCALAR(ReluOp) {
  Scalars s = scalars(builder, loc, in);
  return s.if_less(in[0], s.constant(0), s.constant(0), in[0]);
}
SHEAF_SCALAR(LeakyReluOp) {
  Scalars s = scalars(builder, loc, in);
  return s.if_greater(in[0], s.constant(0), in[0], s.mul(in[0], s.constant(getNegativeSlope().convertToDouble())));
}
SHEAF_SCALAR(EluOp) {
  // exp(x) - 1 loses digits near 0, where expm1's own polynomial keeps them.
  Scalars s = scalars(builder, loc, in);
  Value below = s.mul(s.constant(getAlpha().convertToDouble()), builder.create<math::ExpM1Op>(loc, in[0]));
  return s.if_greater(in[0], s.constant(0), in[0], below);
}
SHEAF_SCALAR(SiluOp) {
  Scalars s = scalars(builder, loc, in);
  return s.mul(in[0], s.sigmoid(in[0]));
}
SHEAF_SCALAR(GeluOp) {
  Scalars s = scalars(builder, loc, in);
  Value half = s.mul(in[0], s.constant(0.5));
  if (!getTanhForm()) {
    Value phi = builder.create<math::ErfOp>(loc, s.mul(in[0], s.constant(M_SQRT1_2)));
    return s.mul(half, s.add(s.constant(1), phi));
  }
  Value cube = s.mul(s.mul(in[0], in[0]), in[0]);
  Value inner = s.mul(s.constant(M_SQRT2 * M_2_SQRTPI * 0.5), s.add(in[0], s.mul(s.constant(0.044715), cube)));
  return s.mul(half, s.add(s.constant(1), builder.create<math::TanhOp>(loc, inner)));
}
SHEAF_SCALAR(TanhOp) { return builder.create<math::TanhOp>(loc, in[0]); }
SHEAF_SCALAR(SigmoidOp) { return scalars(builder, loc, in).sigmoid(in[0]); }
SHEAF_SCALAR(HardtanhOp) {
  Scalars s = scalars(builder, loc, in);
  Value low = s.constant(getMinVal().convertToDouble()), high = s.constant(getMaxVal().convertToDouble());
  return s.if_greater(in[0], high, high, s.if_less(in[0], low, low, in[0]));
}
SHEAF_SCALAR(ScaleOp) {
  Scalars s = scalars(builder, loc, in);
  return s.mul(in[0], s.constant(getValue().convertToDouble()));
}
SHEAF_SCALAR(AddOp) { return scalars(builder, loc, in).add(in[0], in[1]); }
SHEAF_SCALAR(SubOp) { return scalars(builder, loc, in).sub(in[0], in[1]); }
SHEAF_SCALAR(MulOp) { return scalars(builder, loc, in).mul(in[0], in[1]); }

SHEAF_SCALAR(BatchNormOp) {
  // Operands: x, mean, var, then weight and bias where present.
  Scalars s = scalars(builder, loc, in);
  unsigned next = 3;
  Value scale = s.rsqrt(s.add(in[2], s.constant(getEps().convertToDouble())));
  if (getWeight()) scale = s.mul(scale, in[next++]);
  Value y = s.mul(s.sub(in[0], in[1]), scale);
  return getBias() ? s.add(y, in[next]) : y;
}
SHEAF_SCALAR(FoldWeightOp) {
  Scalars s = scalars(builder, loc, in);
  Value scale = s.rsqrt(s.add(in[1], s.constant(getEps().convertToDouble())));
  if (getWeight()) scale = s.mul(scale, in[2]);
  return s.mul(in[0], scale);
}
SHEAF_SCALAR(FoldBiasOp) {
  // Operands: mean, var, then the convolution's bias, weight and bias where present.
  Scalars s = scalars(builder, loc, in);
  unsigned next = 2;
  Value scale = s.rsqrt(s.add(in[1], s.constant(getEps().convertToDouble())));
  Value y = getBias0() ? s.sub(in[next++], in[0]) : s.neg(in[0]);
  if (getWeight()) scale = s.mul(scale, in[next++]);
  y = s.mul(y, scale);
  return getBias() ? s.add(y, in[next]) : y;
}
