// Inverse trigonometric, hyperbolic and inverse hyperbolic functions, to a few roundings. Polynomials are those of Moshier's
// Cephes library (single precision).
#include "ir/ScalarExpression.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace sheaf::ir::scalar {

using namespace mlir;

namespace {

constexpr double kHalfPi = std::numbers::pi / 2;

Expression with_sign_of(Expression sign, Expression magnitude) {
  return magnitude.with(magnitude.builder->create<math::CopySignOp>(magnitude.loc, magnitude.value, sign.value));
}

/// Coefficients of x^n … x^0.
Expression polynomial(Expression x, std::initializer_list<double> coefficients) {
  Expression sum = x.number(*coefficients.begin());
  for (double each : llvm::drop_begin(coefficients)) sum = sum * x + each;
  return sum;
}

/// asin(s) for s up to 1/2, given z = s².
Expression small_asin(Expression s, Expression z) {
  return polynomial(z, {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1}) * z * s + s;
}

/// For x ≥ 0.
Expression positive_atan(Expression x) {
  Expression steep = x > 2.414213562373095, middle = x > 0.4142135623730950;  // tan 3π/8, tan π/8
  Expression from = select(steep, x.number(kHalfPi), select(middle, x.number(kHalfPi / 2), x.number(0)));
  Expression r = select(steep, -1.0 / x, select(middle, (x - 1.0) / (x + 1.0), x)), z = r * r;
  return from + (polynomial(z, {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1}) * z * r + r);
}

}  // namespace

Expression asin(Expression x) {
  Expression size = absolute(x), large = size > 0.5;
  Expression z = select(large, (1.0 - size) * 0.5, x * x), s = select(large, sqrt(z), size);
  Expression y = small_asin(s, z);
  return with_sign_of(x, select(large, kHalfPi - y * 2.0, y));
}

Expression acos(Expression x) {
  Expression size = absolute(x), large = size > 0.5;
  Expression z = select(large, (1.0 - size) * 0.5, x * x), s = select(large, sqrt(z), x);
  Expression y = small_asin(s, z);
  return select(large, select(x < 0.0, std::numbers::pi - y * 2.0, y * 2.0), kHalfPi - y);
}

Expression atan(Expression x) { return with_sign_of(x, positive_atan(absolute(x))); }

Expression atan2(Expression y, Expression x) {
  Expression height = absolute(y), width = absolute(x), steep = height > width;
  Expression small = select(steep, width, height), large = select(steep, height, width);
  // The quotient of two zeros, or of two infinities, is undefined.
  Expression slope = select(large == 0.0, 0, select(small == std::numeric_limits<double>::infinity(), 1, small / large));
  Expression angle = positive_atan(slope);
  angle = select(steep, kHalfPi - angle, angle);
  angle = select(with_sign_of(x, x.number(1)) < 0.0, std::numbers::pi - angle, angle);
  return select(x != x || y != y, x + y, with_sign_of(y, angle));
}

Expression sinh(Expression x) {
  Expression size = absolute(x), e = expm1(size), root = exp(size * 0.5);
  // Beyond 20, e^-x is less than half a rounding of e^x, which may overflow although its half doesn't.
  Expression y = select(size > 20.0, root * 0.5 * root, (e + e / (e + 1.0)) * 0.5);
  return with_sign_of(x, y);
}

Expression cosh(Expression x) {
  Expression size = absolute(x), e = exp(size), root = exp(size * 0.5);
  return select(size > 20.0, root * 0.5 * root, (e + 1.0 / e) * 0.5);
}

Expression asinh(Expression x) {
  Expression size = absolute(x), square = size * size;
  Expression y = log1p(size + square / (sqrt(square + 1.0) + 1.0));
  return with_sign_of(x, select(size > 1e9, log(size) + std::numbers::ln2, y));
}

Expression acosh(Expression x) {
  Expression t = x - 1.0, y = log1p(t + sqrt(t * (t + 2.0)));
  return select(x < 1.0, std::nan(""), select(x > 1e9, log(x) + std::numbers::ln2, y));
}

Expression atanh(Expression x) {
  Expression size = absolute(x), y = log1p(size * 2.0 / (1.0 - size)) * 0.5;
  return with_sign_of(x, select(size > 1.0, std::nan(""), select(size == 1.0, std::numeric_limits<double>::infinity(), y)));
}

}  // namespace sheaf::ir::scalar
