// Derivatives of activations; losses and their derivatives.
#include "ir/ScalarArithmetic.h"

#include <cmath>
#include <numbers>

namespace sheaf::ir::scalar {

using namespace mlir;
using arith::CmpFPredicate;

namespace {

/// Where a gradient's second term is 0 to the last bit anyway: keeps 0 · inf out of it. NaN stays.
Value within(OpBuilder& b, Location loc, Value x, double limit) { return hardtanh(b, loc, x, -limit, limit); }

/// max(log, -100), as PyTorch's binary cross entropy has it.
Value bounded(OpBuilder& b, Location loc, Value log) {
  Value bound = constant(b, loc, -100);
  return choose(b, loc, CmpFPredicate::OLT, log, bound, bound, log);
}

Value one_minus(OpBuilder& b, Location loc, Value x) { return sub(b, loc, constant(b, loc, 1), x); }

/// 1 + (pos_weight - 1) t.
Value weight_of_target(OpBuilder& b, Location loc, Value t, Value pos_weight) {
  Value excess = sub(b, loc, pos_weight, constant(b, loc, 1));
  return add(b, loc, mul(b, loc, excess, t), constant(b, loc, 1));
}

}  // namespace

Value relu_gradient(OpBuilder& b, Location loc, Value dy, Value y) {
  Value zero = constant(b, loc, 0);
  return choose(b, loc, CmpFPredicate::OLE, y, zero, zero, dy);
}

Value leaky_relu_gradient(OpBuilder& b, Location loc, Value dy, Value y, double negative_slope) {
  return choose(b, loc, CmpFPredicate::OGT, y, constant(b, loc, 0), dy, mul(b, loc, dy, constant(b, loc, negative_slope)));
}

Value elu_gradient(OpBuilder& b, Location loc, Value dy, Value x, double alpha) {
  Value slope = mul(b, loc, exp(b, loc, x), constant(b, loc, alpha));
  return choose(b, loc, CmpFPredicate::OGT, x, constant(b, loc, 0), dy, mul(b, loc, dy, slope));
}

Value silu_gradient(OpBuilder& b, Location loc, Value dy, Value x) {
  Value s = sigmoid(b, loc, x);
  Value second = mul(b, loc, mul(b, loc, within(b, loc, x, 120), s), one_minus(b, loc, s));
  return mul(b, loc, dy, add(b, loc, s, second));
}

Value gelu_gradient(OpBuilder& b, Location loc, Value dy, Value x) {
  Value erf = b.create<math::ErfOp>(loc, mul(b, loc, x, constant(b, loc, 1 / std::numbers::sqrt2)));
  Value below = mul(b, loc, add(b, loc, constant(b, loc, 1), erf), constant(b, loc, 0.5));
  Value near = within(b, loc, x, 20);
  Value density = exp(b, loc, mul(b, loc, mul(b, loc, near, near), constant(b, loc, -0.5)));
  Value scale = constant(b, loc, 1 / std::sqrt(2 * std::numbers::pi));
  return mul(b, loc, dy, add(b, loc, below, mul(b, loc, near, mul(b, loc, density, scale))));
}

Value gelu_tanh_gradient(OpBuilder& b, Location loc, Value dy, Value x) {
  // y = x σ(v), v = 2 √(2/π) (x + 0.044715 x³): y' = σ + x v' σ (1 - σ). 1 - σ is e^-v σ, without cancellation; up to
  // the limit e^-v is below 1e22, and beyond it the second term is below 1e-18.
  const double factor = 2 * std::sqrt(2 / std::numbers::pi);
  Value near = within(b, loc, x, 8), square = mul(b, loc, near, near), one = constant(b, loc, 1);
  auto polynomial = [&](double cubic) {
    return add(b, loc, constant(b, loc, factor), mul(b, loc, square, constant(b, loc, cubic * factor)));
  };
  Value e = exp(b, loc, neg(b, loc, mul(b, loc, near, polynomial(0.044715))));
  Value s = div(b, loc, one, add(b, loc, one, e));
  Value slope = mul(b, loc, near, polynomial(3 * 0.044715));
  Value second = mul(b, loc, mul(b, loc, slope, s), mul(b, loc, e, s));
  return mul(b, loc, dy, add(b, loc, s, second));
}

Value tanh_gradient(OpBuilder& b, Location loc, Value dy, Value y) {
  return mul(b, loc, dy, one_minus(b, loc, mul(b, loc, y, y)));
}

Value sigmoid_gradient(OpBuilder& b, Location loc, Value dy, Value y) {
  return mul(b, loc, dy, mul(b, loc, y, one_minus(b, loc, y)));
}

Value hardtanh_gradient(OpBuilder& b, Location loc, Value dy, Value y, double min, double max) {
  Value zero = constant(b, loc, 0);
  Value below = choose(b, loc, CmpFPredicate::OGE, y, constant(b, loc, max), zero, dy);
  return choose(b, loc, CmpFPredicate::OLE, y, constant(b, loc, min), zero, below);
}

bool gradient_takes_result(llvm::StringRef kind) {
  return kind != "elu" && kind != "silu" && kind != "gelu" && kind != "gelu_tanh";
}

Value activation_gradient(OpBuilder& b, Location loc, DictionaryAttr activation, Value dy, Value value) {
  StringRef kind = cast<StringAttr>(activation.get("kind")).getValue();
  auto number = [&](StringRef name) { return cast<FloatAttr>(activation.get(name)).getValueAsDouble(); };
  if (kind == "relu") return relu_gradient(b, loc, dy, value);
  if (kind == "leaky_relu") return leaky_relu_gradient(b, loc, dy, value, number("negative_slope"));
  if (kind == "elu") return elu_gradient(b, loc, dy, value, number("alpha"));
  if (kind == "silu") return silu_gradient(b, loc, dy, value);
  if (kind == "gelu") return gelu_gradient(b, loc, dy, value);
  if (kind == "gelu_tanh") return gelu_tanh_gradient(b, loc, dy, value);
  if (kind == "tanh") return tanh_gradient(b, loc, dy, value);
  if (kind == "sigmoid") return sigmoid_gradient(b, loc, dy, value);
  return hardtanh_gradient(b, loc, dy, value, number("min_val"), number("max_val"));
}

Value mse(OpBuilder& b, Location loc, Value a, Value t) {
  Value difference = sub(b, loc, a, t);
  return mul(b, loc, difference, difference);
}

Value mse_derivative(OpBuilder& b, Location loc, Value a, Value t) {
  return mul(b, loc, sub(b, loc, a, t), constant(b, loc, 2));
}

Value l1(OpBuilder& b, Location loc, Value a, Value t) { return b.create<math::AbsFOp>(loc, sub(b, loc, a, t)); }

Value l1_derivative(OpBuilder& b, Location loc, Value a, Value t) {
  Value difference = sub(b, loc, a, t), zero = constant(b, loc, 0);
  Value negative = choose(b, loc, CmpFPredicate::OLT, difference, zero, constant(b, loc, -1), difference);
  return choose(b, loc, CmpFPredicate::OGT, difference, zero, constant(b, loc, 1), negative);
}

Value bce(OpBuilder& b, Location loc, Value a, Value t) {
  Value log = bounded(b, loc, b.create<math::LogOp>(loc, a));
  Value log_rest = bounded(b, loc, b.create<math::Log1pOp>(loc, neg(b, loc, a)));
  Value likelihood = add(b, loc, mul(b, loc, t, log), mul(b, loc, one_minus(b, loc, t), log_rest));
  return neg(b, loc, likelihood);
}

Value bce_derivative(OpBuilder& b, Location loc, Value a, Value t) {
  Value variance = mul(b, loc, a, one_minus(b, loc, a)), least = constant(b, loc, 1e-12);
  Value bounded = choose(b, loc, CmpFPredicate::OLT, variance, least, least, variance);
  return div(b, loc, sub(b, loc, a, t), bounded);
}

Value bce_with_logits(OpBuilder& b, Location loc, Value a, Value t, Value pos_weight) {
  Value minus = neg(b, loc, a), zero = constant(b, loc, 0);
  Value positive = choose(b, loc, CmpFPredicate::OLT, minus, zero, zero, minus);
  Value distance = neg(b, loc, b.create<math::AbsFOp>(loc, a));
  Value softplus = add(b, loc, b.create<math::Log1pOp>(loc, exp(b, loc, distance)), positive);
  if (pos_weight) softplus = mul(b, loc, softplus, weight_of_target(b, loc, t, pos_weight));
  return add(b, loc, mul(b, loc, one_minus(b, loc, t), a), softplus);
}

Value bce_with_logits_derivative(OpBuilder& b, Location loc, Value a, Value t, Value pos_weight) {
  if (!pos_weight) return sub(b, loc, sigmoid(b, loc, a), t);
  Value complement = sigmoid(b, loc, neg(b, loc, a));  // 1 - σ(a), without its cancellation
  Value weighted = mul(b, loc, weight_of_target(b, loc, t, pos_weight), complement);
  return sub(b, loc, one_minus(b, loc, t), weighted);
}

}  // namespace sheaf::ir::scalar
