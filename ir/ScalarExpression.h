// Scalar arithmetic written as formulas, for the rows of element-wise functions (ir/ElementFunctions.cpp).
#pragma once

#include "ir/ScalarArithmetic.h"

namespace sheaf::ir::scalar {

/// A scalar value (f32, i64, i32 or i1) while code for it is emitted. Operators and functions emit what their names say;
/// numbers take the type of the value beside them.
struct Expression {
  OpBuilder* builder = nullptr;
  Location loc;
  Value value;

  bool is_float() const { return mlir::isa<mlir::FloatType>(value.getType()); }
  Expression with(Value other) const { return {builder, loc, other}; }
  /// A number of this value's type; for integers the nearest one.
  Expression number(double x) const;
};

Expression operator+(Expression a, Expression b);
Expression operator-(Expression a, Expression b);
Expression operator*(Expression a, Expression b);
Expression operator/(Expression a, Expression b);  ///< of f32
Expression operator-(Expression a);
inline Expression operator+(Expression a, double b) { return a + a.number(b); }
inline Expression operator-(Expression a, double b) { return a - a.number(b); }
inline Expression operator-(double a, Expression b) { return b.number(a) - b; }
inline Expression operator*(Expression a, double b) { return a * a.number(b); }
inline Expression operator/(Expression a, double b) { return a / a.number(b); }
inline Expression operator/(double a, Expression b) { return b.number(a) / b; }

// Comparisons: i1. With a NaN all are false except !=.
Expression operator==(Expression a, Expression b);
Expression operator!=(Expression a, Expression b);
Expression operator<(Expression a, Expression b);
Expression operator<=(Expression a, Expression b);
inline Expression operator>(Expression a, Expression b) { return b < a; }
inline Expression operator>=(Expression a, Expression b) { return b <= a; }
inline Expression operator==(Expression a, double b) { return a == a.number(b); }
inline Expression operator!=(Expression a, double b) { return a != a.number(b); }
inline Expression operator<(Expression a, double b) { return a < a.number(b); }
inline Expression operator<=(Expression a, double b) { return a <= a.number(b); }
inline Expression operator>(Expression a, double b) { return a > a.number(b); }
inline Expression operator>=(Expression a, double b) { return a >= a.number(b); }
Expression operator&&(Expression a, Expression b);
Expression operator||(Expression a, Expression b);

Expression select(Expression condition, Expression then, Expression otherwise);
inline Expression select(Expression condition, Expression then, double otherwise) {
  return select(condition, then, then.number(otherwise));
}
inline Expression select(Expression condition, double then, Expression otherwise) {
  return select(condition, otherwise.number(then), otherwise);
}

/// The smaller and the larger; NaN if either is NaN (torch.minimum, torch.maximum).
Expression minimum(Expression a, Expression b);
Expression maximum(Expression a, Expression b);
inline Expression minimum(Expression a, double b) { return minimum(a, a.number(b)); }
inline Expression maximum(Expression a, double b) { return maximum(a, a.number(b)); }
Expression absolute(Expression x);
/// a / b rounded to a whole number, towards 0 or down. For integers, 0 if b is 0.
Expression truncated_quotient(Expression a, Expression b);
Expression floored_quotient(Expression a, Expression b);
/// The remainders of these divisions, with the sign of a (torch.fmod) or of b (torch.remainder). For f32, exact up to |a / b| =
/// 2^22.
Expression truncated_rest(Expression a, Expression b);
Expression floored_rest(Expression a, Expression b);
/// -1, 0 or 1; 0 for a NaN.
Expression sign(Expression x);

// Of f32:

Expression exp(Expression x);
Expression log(Expression x);
Expression log1p(Expression x);
Expression expm1(Expression x);
Expression sqrt(Expression x);
Expression tanh(Expression x);
Expression erf(Expression x);
Expression floor(Expression x);
Expression ceil(Expression x);
Expression round(Expression x);  ///< to the nearest, halves to even
Expression trunc(Expression x);
Expression sigmoid(Expression x);
/// Exact to a few roundings for |x| up to some 10⁴; beyond that, the argument's reduction loses digits.
Expression sin(Expression x);
Expression cos(Expression x);
// Inverse and hyperbolic functions (ir/ScalarInverses.cpp); NaN where they aren't defined.
Expression asin(Expression x);
Expression acos(Expression x);
Expression atan(Expression x);
/// The angle of the point (x, y), from -π to π. As in C, a zero's sign counts.
Expression atan2(Expression y, Expression x);
Expression sinh(Expression x);
Expression cosh(Expression x);
Expression asinh(Expression x);
Expression acosh(Expression x);
Expression atanh(Expression x);
/// torch.pow: for a negative base, a number only if the exponent is whole; 1 if the exponent is 0.
Expression pow(Expression base, Expression exponent);
/// The same with a known exponent: small whole ones and halves by products and roots.
Expression pow(Expression base, double exponent);

}  // namespace sheaf::ir::scalar
