#include "ir/ScalarExpression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace sheaf::ir::scalar {

using namespace mlir;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

namespace {

template <typename Float, typename Integer>
Expression either(Expression a, Expression b) {
  if (a.is_float()) return a.with(a.builder->create<Float>(a.loc, a.value, b.value));
  return a.with(a.builder->create<Integer>(a.loc, a.value, b.value));
}

template <typename Op>
Expression call(Expression x) {
  return x.with(x.builder->create<Op>(x.loc, x.value));
}

/// Integers are signed, except i1, whose true is greater than its false.
Expression compare(Expression a, Expression b, CmpFPredicate of_floats, CmpIPredicate of_signed, CmpIPredicate of_bools) {
  if (a.is_float()) return a.with(a.builder->create<arith::CmpFOp>(a.loc, of_floats, a.value, b.value));
  CmpIPredicate predicate = a.value.getType().isInteger(1) ? of_bools : of_signed;
  return a.with(a.builder->create<arith::CmpIOp>(a.loc, predicate, a.value, b.value));
}

Expression fma(Expression a, Expression b, Expression c) {
  return a.with(a.builder->create<math::FmaOp>(a.loc, a.value, b.value, c.value));
}

/// x^n by products, n ≥ 1.
Expression product(Expression x, int64_t n) {
  if (n == 1) return x;
  Expression half = product(x, n / 2), square = half * half;
  return n % 2 ? square * x : square;
}

/// sin(x + quarters · π/2). The argument is reduced to [-π/4, π/4] with π/2 in three parts (Cody and Waite), where Taylor
/// polynomials suffice: their next terms are below 2^-26.
Expression sine(Expression x, int64_t quarters) {
  OpBuilder& b = *x.builder;
  Expression count = round(x * (2 / std::numbers::pi));
  // The first two parts have so few digits that their products with counts up to 2^13 are exact.
  Expression r = fma(count, x.number(-1.5703125), x);
  r = fma(count, x.number(-4.837512969970703125e-4), r);
  r = fma(count, x.number(-7.54978995489188216e-8), r);
  Expression r2 = r * r;
  Expression s = x.number(2.7557319e-6);
  for (double k : {-1.9841270e-4, 8.3333333e-3, -1.6666667e-1}) s = fma(s, r2, x.number(k));
  s = fma(s * r2, r, r);
  Expression c = x.number(-2.7557319e-7);
  for (double k : {2.4801587e-5, -1.3888889e-3, 4.1666667e-2, -0.5, 1.0}) c = fma(c, r2, x.number(k));
  // Beyond that nothing is left to reduce; infinity has no sine.
  Expression known = absolute(x) < 1e9;
  Value whole = b.create<arith::FPToSIOp>(x.loc, b.getI32Type(), select(known, count, 0).value);
  Expression quarter = x.with(whole) + static_cast<double>(quarters);
  auto bit = [&](int32_t mask) {
    Value bits = b.create<arith::AndIOp>(x.loc, quarter.value, b.create<arith::ConstantOp>(x.loc, b.getI32IntegerAttr(mask)));
    return x.with(bits) != 0.0;
  };
  Expression y = select(bit(1), c, s);
  y = select(bit(2), -y, y);
  return select(known, y, x.number(std::nan("")));
}

}  // namespace

Expression Expression::number(double x) const {
  Type type = value.getType();
  if (isa<FloatType>(type)) return with(constant(*builder, loc, x));
  constexpr double beyond = 0x1p63;  // with no limit, infinities too
  int64_t whole = x >= beyond    ? std::numeric_limits<int64_t>::max()
                  : x <= -beyond ? std::numeric_limits<int64_t>::min()
                                 : static_cast<int64_t>(x);
  if (type.isInteger(32))
    whole = std::clamp<int64_t>(whole, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  if (type.isInteger(1)) whole = x != 0;
  return with(builder->create<arith::ConstantOp>(loc, builder->getIntegerAttr(type, whole)));
}

Expression operator+(Expression a, Expression b) { return either<arith::AddFOp, arith::AddIOp>(a, b); }
Expression operator-(Expression a, Expression b) { return either<arith::SubFOp, arith::SubIOp>(a, b); }
Expression operator*(Expression a, Expression b) { return either<arith::MulFOp, arith::MulIOp>(a, b); }
Expression operator/(Expression a, Expression b) { return a.with(div(*a.builder, a.loc, a.value, b.value)); }
Expression operator-(Expression a) { return a.is_float() ? call<arith::NegFOp>(a) : a.number(0) - a; }

Expression operator==(Expression a, Expression b) {
  return compare(a, b, CmpFPredicate::OEQ, CmpIPredicate::eq, CmpIPredicate::eq);
}
Expression operator!=(Expression a, Expression b) {
  return compare(a, b, CmpFPredicate::UNE, CmpIPredicate::ne, CmpIPredicate::ne);
}
Expression operator<(Expression a, Expression b) {
  return compare(a, b, CmpFPredicate::OLT, CmpIPredicate::slt, CmpIPredicate::ult);
}
Expression operator<=(Expression a, Expression b) {
  return compare(a, b, CmpFPredicate::OLE, CmpIPredicate::sle, CmpIPredicate::ule);
}
Expression operator&&(Expression a, Expression b) { return a.with(a.builder->create<arith::AndIOp>(a.loc, a.value, b.value)); }
Expression operator||(Expression a, Expression b) { return a.with(a.builder->create<arith::OrIOp>(a.loc, a.value, b.value)); }

Expression select(Expression condition, Expression then, Expression otherwise) {
  return then.with(then.builder->create<arith::SelectOp>(then.loc, condition.value, then.value, otherwise.value));
}

Expression minimum(Expression a, Expression b) { return select(a.is_float() ? a < b || a != a : a < b, a, b); }
Expression maximum(Expression a, Expression b) { return select(a.is_float() ? a > b || a != a : a > b, a, b); }
Expression absolute(Expression x) { return x.is_float() ? call<math::AbsFOp>(x) : select(x < 0.0, -x, x); }
/// The signs differ and there is a remainder: rounding down gives one less than truncating.
static Expression rest_of_other_sign(Expression rest, Expression b) {
  return rest != 0.0 && ((rest < 0.0 && b > 0.0) || (rest > 0.0 && b < 0.0));
}

Expression truncated_quotient(Expression a, Expression b) {
  if (a.is_float()) return trunc(a / b);
  // Divisors that machines can't divide by: 0, and -1, whose quotient may overflow the type.
  Expression special = b == 0.0 || b == -1.0, divisor = select(special, 1, b);
  Expression quotient = a.with(a.builder->create<arith::DivSIOp>(a.loc, a.value, divisor.value));
  return select(b == 0.0, 0, select(b == -1.0, -a, quotient));
}

Expression truncated_rest(Expression a, Expression b) {
  Expression quotient = truncated_quotient(a, b);
  if (!a.is_float()) return a - quotient * b;
  // The rounded quotient may be off by one; the remainder's sign or size shows it.
  Expression rest = fma(-quotient, b, a), size = absolute(b), towards = select(a < 0.0, -size, size);
  rest = select((rest < 0.0 && a > 0.0) || (rest > 0.0 && a < 0.0), rest + towards, rest);
  rest = select(absolute(rest) >= size, rest - towards, rest);
  return select(quotient == 0.0, a, rest);
}

Expression floored_rest(Expression a, Expression b) {
  Expression rest = truncated_rest(a, b);
  return select(rest_of_other_sign(rest, b), rest + b, rest);
}

Expression floored_quotient(Expression a, Expression b) {
  if (!a.is_float()) {
    Expression quotient = truncated_quotient(a, b);
    return select(rest_of_other_sign(a - quotient * b, b), quotient - 1.0, quotient);
  }
  // torch's way: subtract a whole number of b's first, so that the quotient is a whole number up to rounding.
  Expression quotient = round((a - floored_rest(a, b)) / b);
  return select(b == 0.0 || absolute(a) == std::numeric_limits<double>::infinity(), a / b, quotient);
}

Expression sign(Expression x) { return select(x > 0.0, x.number(1), select(x < 0.0, x.number(-1), 0)); }

Expression exp(Expression x) { return call<math::ExpOp>(x); }
Expression log(Expression x) { return call<math::LogOp>(x); }
Expression log1p(Expression x) { return call<math::Log1pOp>(x); }
Expression expm1(Expression x) { return call<math::ExpM1Op>(x); }
Expression sqrt(Expression x) { return call<math::SqrtOp>(x); }
Expression tanh(Expression x) { return call<math::TanhOp>(x); }
Expression erf(Expression x) { return call<math::ErfOp>(x); }
Expression floor(Expression x) { return call<math::FloorOp>(x); }
Expression ceil(Expression x) { return call<math::CeilOp>(x); }
Expression round(Expression x) { return call<math::RoundEvenOp>(x); }
Expression trunc(Expression x) { return call<math::TruncOp>(x); }
Expression sigmoid(Expression x) { return x.with(sigmoid(*x.builder, x.loc, x.value)); }
Expression sin(Expression x) { return sine(x, 0); }
Expression cos(Expression x) { return sine(x, 1); }

Expression pow(Expression base, Expression exponent) {
  Expression magnitude = exp(exponent * log(absolute(base)));
  Expression whole = floor(exponent) == exponent;
  Expression half = exponent * 0.5, odd = floor(half) != half;
  Expression negative = select(whole, select(odd, -magnitude, magnitude), base.number(std::nan("")));
  return select(exponent == 0.0 || base == 1.0, 1, select(base < 0.0, negative, magnitude));
}

Expression pow(Expression base, double exponent) {
  if (exponent == 0) return base.number(1);
  const double magnitude = std::abs(exponent);
  if (std::nearbyint(magnitude) == magnitude && magnitude <= 32) {
    Expression power = product(base, static_cast<int64_t>(magnitude));
    return exponent < 0 ? 1.0 / power : power;
  }
  if (magnitude == 0.5) return exponent < 0 ? 1.0 / sqrt(base) : sqrt(base);
  return pow(base, base.number(exponent));
}

}  // namespace sheaf::ir::scalar
