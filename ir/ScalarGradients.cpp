// Derivatives of activations; losses and their derivatives.
#include "ir/ScalarArithmetic.h"

#include <cmath>
#include <numbers>

namespace sheaf::ir::scalar {

using namespace mlir;
using arith::CmpFPredicate;

namespace {

/// Keeps 0 · inf out of a gradient's second term, which is 0 to the last bit beyond the limit anyway. NaN stays.
Value within(OpBuilder& b, Location loc, Value x, double limit) { return hardtanh(b, loc, x, -limit, limit); }

Value one_minus(OpBuilder& b, Location loc, Value x) { return sub(b, loc, constant(b, loc, 1), x); }

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
  // y = x σ(v), v = 2 √(2/π) (x + 0.044715 x³): y' = σ + x v' σ (1 - σ). 1 - σ is computed as e^-v σ, without cancellation; up
  // to the limit e^-v is below 1e22, and beyond it the second term is below 1e-18.
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

}  // namespace sheaf::ir::scalar
