// How optimisers update a parameter and its state from its gradient: torch.optim's single-tensor formulas.
#include "ir/ScalarArithmetic.h"

#include <cmath>

namespace sheaf::ir::scalar {

using namespace mlir;
using arith::CmpFPredicate;

namespace {

/// x · factor + y.
Value scaled_add(OpBuilder& b, Location loc, Value x, double factor, Value y) {
  return add(b, loc, mul(b, loc, x, constant(b, loc, factor)), y);
}

}  // namespace

Value clip_factor(OpBuilder& b, Location loc, Value sum_of_squares, double max_norm) {
  Value norm = add(b, loc, sqrt(b, loc, sum_of_squares), constant(b, loc, 1e-6));
  Value factor = div(b, loc, constant(b, loc, max_norm), norm), one = constant(b, loc, 1);
  return choose(b, loc, CmpFPredicate::OGT, factor, one, one, factor);
}

Value penalised_gradient(OpBuilder& b, Location loc, Value g, Value p, double weight_decay) {
  return scaled_add(b, loc, p, weight_decay, g);
}

Value sgd_momentum(OpBuilder& b, Location loc, Value buffer, Value g, Value step, double momentum, double dampening) {
  Value next = scaled_add(b, loc, buffer, momentum, mul(b, loc, g, constant(b, loc, 1 - dampening)));
  if (!step) return next;
  Value one = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(1));
  Value first = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, step, one);
  return b.create<arith::SelectOp>(loc, first, g, next);
}

Value sgd_nesterov(OpBuilder& b, Location loc, Value g, Value buffer, double momentum) {
  return scaled_add(b, loc, buffer, momentum, g);
}

Value descend(OpBuilder& b, Location loc, Value p, Value direction, Value lr) {
  return sub(b, loc, p, mul(b, loc, lr, direction));
}

Value running_average(OpBuilder& b, Location loc, Value average, Value g, double beta) {
  Value difference = sub(b, loc, g, average);
  // torch.lerp starts from the nearer end.
  if (1 - beta < 0.5) return scaled_add(b, loc, difference, 1 - beta, average);
  return sub(b, loc, g, mul(b, loc, difference, constant(b, loc, beta)));
}

Value running_square(OpBuilder& b, Location loc, Value average, Value g, double beta) {
  return scaled_add(b, loc, average, beta, mul(b, loc, mul(b, loc, g, constant(b, loc, 1 - beta)), g));
}

Value running_maximum(OpBuilder& b, Location loc, Value maximum, Value square) {
  return b.create<arith::MaximumFOp>(loc, maximum, square);
}

Value decoupled_decay(OpBuilder& b, Location loc, Value p, Value lr, double weight_decay) {
  Value lost = mul(b, loc, lr, constant(b, loc, weight_decay));
  return mul(b, loc, p, sub(b, loc, constant(b, loc, 1), lost));
}

Value bias_correction(OpBuilder& b, Location loc, Value step, double beta) {
  // The powers beta^(2^i) are constants; those of step's bits are multiplied. The last one stands for all higher bits too: by
  // then the power is 0, or the number of steps is beyond any use.
  const auto wide = [&](double value) -> Value { return b.create<arith::ConstantOp>(loc, b.getF64FloatAttr(value)); };
  const auto integer = [&](int64_t value) -> Value { return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(value)); };
  Value one = wide(1), zero = integer(0), power = one;
  bool last = false;
  for (int64_t bit = 1; !last; bit *= 2) {
    const double factor = std::pow(beta, static_cast<double>(bit));
    last = factor == 0 || bit == int64_t{1} << 61;
    Value bits = b.create<arith::AndIOp>(loc, step, integer(last ? -bit : bit));
    Value has = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, bits, zero);
    power = mul(b, loc, power, b.create<arith::SelectOp>(loc, has, wide(factor), one));
  }
  return b.create<arith::TruncFOp>(loc, b.getF32Type(), sub(b, loc, one, power));
}

Value adam_update(OpBuilder& b, Location loc, Value p, Value m, Value v, Value lr, Value correction1, Value correction2,
                  double eps) {
  Value deviation = div(b, loc, sqrt(b, loc, v), sqrt(b, loc, correction2));
  Value direction = div(b, loc, m, add(b, loc, deviation, constant(b, loc, eps)));
  return descend(b, loc, p, direction, div(b, loc, lr, correction1));
}

Value rmsprop_direction(OpBuilder& b, Location loc, Value g, Value v, Value a, double eps) {
  Value variance = a ? sub(b, loc, v, mul(b, loc, a, a)) : v;
  return div(b, loc, g, add(b, loc, sqrt(b, loc, variance), constant(b, loc, eps)));
}

Value rmsprop_momentum(OpBuilder& b, Location loc, Value buffer, Value direction, double momentum) {
  return scaled_add(b, loc, buffer, momentum, direction);
}

}  // namespace sheaf::ir::scalar
