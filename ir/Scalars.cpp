#include "ir/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numbers>

namespace sheaf::ir::scalar {

using namespace mlir;
using arith::CmpFPredicate;

namespace {

Value add(OpBuilder& b, Location loc, Value x, Value y) { return b.create<arith::AddFOp>(loc, x, y); }
Value sub(OpBuilder& b, Location loc, Value x, Value y) { return b.create<arith::SubFOp>(loc, x, y); }
Value mul(OpBuilder& b, Location loc, Value x, Value y) { return b.create<arith::MulFOp>(loc, x, y); }
Value div(OpBuilder& b, Location loc, Value x, Value y) { return b.create<arith::DivFOp>(loc, x, y); }
Value exp(OpBuilder& b, Location loc, Value x) { return b.create<math::ExpOp>(loc, x); }

/// predicate(x, bound) ? then : otherwise. Ordered predicates are false for NaN.
Value choose(OpBuilder& b, Location loc, CmpFPredicate predicate, Value x, Value bound, Value then,
             Value otherwise) {
  return b.create<arith::SelectOp>(loc, b.create<arith::CmpFOp>(loc, predicate, x, bound), then, otherwise);
}

/// e^x - 1 for x <= 0. Near 0 the difference would cancel: there Taylor's polynomial, whose next term is
/// below 2e-9 relative on [-0.5, 0].
Value expm1_of_negative(OpBuilder& b, Location loc, Value x) {
  Value sum = constant(b, loc, 1.0 / std::tgamma(9.0 + 1));
  for (int n = 8; n >= 1; --n)
    sum = b.create<math::FmaOp>(loc, sum, x, constant(b, loc, 1.0 / std::tgamma(n + 1.0)));
  Value near = mul(b, loc, sum, x);
  Value far = sub(b, loc, exp(b, loc, x), constant(b, loc, 1));
  return choose(b, loc, CmpFPredicate::OGT, x, constant(b, loc, -0.5), near, far);
}

}  // namespace

Value constant(OpBuilder& b, Location loc, double value) {
  return b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(static_cast<float>(value)));
}

Value relu(OpBuilder& b, Location loc, Value x) {
  Value zero = constant(b, loc, 0);
  return choose(b, loc, CmpFPredicate::OLT, x, zero, zero, x);
}

Value leaky_relu(OpBuilder& b, Location loc, Value x, double negative_slope) {
  return choose(b, loc, CmpFPredicate::OGT, x, constant(b, loc, 0), x,
                mul(b, loc, x, constant(b, loc, negative_slope)));
}

Value elu(OpBuilder& b, Location loc, Value x, double alpha) {
  Value negative = mul(b, loc, expm1_of_negative(b, loc, x), constant(b, loc, alpha));
  return choose(b, loc, CmpFPredicate::OGT, x, constant(b, loc, 0), x, negative);
}

Value sigmoid(OpBuilder& b, Location loc, Value x) {
  Value one = constant(b, loc, 1);
  return div(b, loc, one, add(b, loc, one, exp(b, loc, b.create<arith::NegFOp>(loc, x))));
}

Value silu(OpBuilder& b, Location loc, Value x) {
  return div(b, loc, x, add(b, loc, constant(b, loc, 1), exp(b, loc, b.create<arith::NegFOp>(loc, x))));
}

Value gelu(OpBuilder& b, Location loc, Value x) {
  Value erf = b.create<math::ErfOp>(loc, mul(b, loc, x, constant(b, loc, 1 / std::numbers::sqrt2)));
  return mul(b, loc, mul(b, loc, x, constant(b, loc, 0.5)), add(b, loc, constant(b, loc, 1), erf));
}

Value gelu_tanh(OpBuilder& b, Location loc, Value x) {
  Value square = mul(b, loc, x, x);
  Value inner =
      mul(b, loc, x, add(b, loc, constant(b, loc, 1), mul(b, loc, square, constant(b, loc, 0.044715))));
  // (1 + tanh u) / 2 is σ(2u), without the cancellation of 1 + tanh.
  Value exponent = mul(b, loc, inner, constant(b, loc, -2 * std::sqrt(2 / std::numbers::pi)));
  return div(b, loc, x, add(b, loc, constant(b, loc, 1), exp(b, loc, exponent)));
}

Value tanh(OpBuilder& b, Location loc, Value x) { return b.create<math::TanhOp>(loc, x); }

Value hardtanh(OpBuilder& b, Location loc, Value x, double min, double max) {
  Value low = constant(b, loc, min), high = constant(b, loc, max);
  Value capped = choose(b, loc, CmpFPredicate::OGT, x, high, high, x);
  return choose(b, loc, CmpFPredicate::OLT, x, low, low, capped);
}

Value batch_norm_factor(OpBuilder& b, Location loc, Value gamma, Value var, double eps) {
  Value deviation = b.create<math::SqrtOp>(loc, add(b, loc, var, constant(b, loc, eps)));
  return div(b, loc, gamma ? gamma : constant(b, loc, 1), deviation);
}

Value batch_norm(OpBuilder& b, Location loc, Value x, Value mean, Value var, Value gamma, Value beta,
                 double eps) {
  // Not to be reassociated into x·f - mean·f, which cancels where mean is large.
  Value centred = b.create<arith::SubFOp>(loc, x, mean, arith::FastMathFlags::contract);
  Value scaled = mul(b, loc, centred, batch_norm_factor(b, loc, gamma, var, eps));
  return beta ? add(b, loc, scaled, beta) : scaled;
}

Value cast(OpBuilder& b, Location loc, Value x, bool from_unsigned, Type to, bool to_unsigned) {
  Type from = x.getType();
  if (from == to) return x;
  if (isa<FloatType>(from) && isa<FloatType>(to)) return x;  // scalars of all float dtypes are f32
  if (isa<FloatType>(from)) {
    // Through 64 bits, as PyTorch does for uint8: -1.0 becomes 255.
    Value wide = b.create<arith::FPToSIOp>(loc, to_unsigned ? b.getI64Type() : to, x);
    return to_unsigned ? b.create<arith::TruncIOp>(loc, to, wide).getResult() : wide;
  }
  if (isa<FloatType>(to)) {
    if (from_unsigned) return b.create<arith::UIToFPOp>(loc, to, x);
    return b.create<arith::SIToFPOp>(loc, to, x);
  }
  if (to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth()) return b.create<arith::TruncIOp>(loc, to, x);
  if (from_unsigned) return b.create<arith::ExtUIOp>(loc, to, x);
  return b.create<arith::ExtSIOp>(loc, to, x);
}

}  // namespace sheaf::ir::scalar
