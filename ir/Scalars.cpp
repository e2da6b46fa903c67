#include "ir/ScalarArithmetic.h"

#include <array>
#include <cmath>
#include <numbers>

namespace sheaf::ir::scalar {

using namespace mlir;
using arith::CmpFPredicate;

namespace {

/// e^x - 1 for x <= 0. Near 0 the difference would cancel; a Taylor polynomial replaces it there, whose next term is below 2e-9
/// relative on [-0.5, 0].
Value expm1_of_negative(OpBuilder& b, Location loc, Value x) {
  Value sum = constant(b, loc, 1.0 / std::tgamma(9.0 + 1));
  for (int n = 8; n >= 1; --n) sum = b.create<math::FmaOp>(loc, sum, x, constant(b, loc, 1.0 / std::tgamma(n + 1.0)));
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
  return choose(b, loc, CmpFPredicate::OGT, x, constant(b, loc, 0), x, mul(b, loc, x, constant(b, loc, negative_slope)));
}

Value elu(OpBuilder& b, Location loc, Value x, double alpha) {
  Value negative = mul(b, loc, expm1_of_negative(b, loc, x), constant(b, loc, alpha));
  return choose(b, loc, CmpFPredicate::OGT, x, constant(b, loc, 0), x, negative);
}

Value sigmoid(OpBuilder& b, Location loc, Value x) {
  Value one = constant(b, loc, 1);
  return div(b, loc, one, add(b, loc, one, exp(b, loc, neg(b, loc, x))));
}

Value silu(OpBuilder& b, Location loc, Value x) {
  return div(b, loc, x, add(b, loc, constant(b, loc, 1), exp(b, loc, neg(b, loc, x))));
}

Value gelu(OpBuilder& b, Location loc, Value x) {
  Value erf = b.create<math::ErfOp>(loc, mul(b, loc, x, constant(b, loc, 1 / std::numbers::sqrt2)));
  return mul(b, loc, mul(b, loc, x, constant(b, loc, 0.5)), add(b, loc, constant(b, loc, 1), erf));
}

Value gelu_tanh(OpBuilder& b, Location loc, Value x) {
  Value square = mul(b, loc, x, x);
  Value inner = mul(b, loc, x, add(b, loc, constant(b, loc, 1), mul(b, loc, square, constant(b, loc, 0.044715))));
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
  Value deviation = sqrt(b, loc, add(b, loc, var, constant(b, loc, eps)));
  return div(b, loc, gamma ? gamma : constant(b, loc, 1), deviation);
}

Value batch_norm(OpBuilder& b, Location loc, Value x, Value mean, Value var, Value gamma, Value beta, double eps) {
  // Must not be reassociated into x·f - mean·f, which cancels where the mean is large.
  Value centred = b.create<arith::SubFOp>(loc, x, mean, arith::FastMathFlags::contract);
  Value scaled = mul(b, loc, centred, batch_norm_factor(b, loc, gamma, var, eps));
  return beta ? add(b, loc, scaled, beta) : scaled;
}

Value cast(OpBuilder& b, Location loc, Value x, bool from_unsigned, Type to, bool to_unsigned) {
  Type from = x.getType();
  if (from == to) return x;
  if (isa<FloatType>(from) && isa<FloatType>(to)) return x;  // scalars of all float dtypes are f32
  if (to.isInteger(1)) {
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(from));
    if (isa<FloatType>(from)) return b.create<arith::CmpFOp>(loc, CmpFPredicate::UNE, x, zero);
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, x, zero);
  }
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

Value philox_word(OpBuilder& b, Location loc, Value seed, Value position, Value step, uint32_t stream) {
  // Words are in the lower halves of i64s, with arbitrary upper halves, so vectors need no packing between products and sums.
  auto constant = [&](uint64_t value) -> Value {
    return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(b.getI64Type(), llvm::APInt(64, value)));
  };
  Value half = constant(32), mask = constant(0xFFFFFFFF);
  auto high = [&](Value x) -> Value { return b.create<arith::ShRUIOp>(loc, x, half); };
  auto exclusive = [&](Value x, Value y) -> Value { return b.create<arith::XOrIOp>(loc, x, y); };
  auto product = [&](uint32_t factor, Value x) -> Value {
    return b.create<arith::MulIOp>(loc, b.create<arith::AndIOp>(loc, x, mask), constant(factor));
  };
  std::array<Value, 4> counter{position, high(position), step, constant(stream)};
  Value key_high = high(seed);
  for (uint32_t round = 0; round < 10; ++round) {
    // Not added up round by round, so all keys are ready at once.
    Value round_low = b.create<arith::AddIOp>(loc, seed, constant(round * 0x9E3779B9u));
    Value round_high = b.create<arith::AddIOp>(loc, key_high, constant(round * 0xBB67AE85u));
    Value x = product(0xD2511F53u, counter[0]), y = product(0xCD9E8D57u, counter[2]);
    counter = {exclusive(exclusive(high(y), counter[1]), round_low), y, exclusive(exclusive(high(x), counter[3]), round_high),
               x};
  }
  return b.create<arith::TruncIOp>(loc, b.getI32Type(), counter[0]);
}

Value philox_uniform(OpBuilder& b, Location loc, Value seed, Value position, Value step, uint32_t stream) {
  Value word = philox_word(b, loc, seed, position, step, stream);
  // Only as many bits as an f32 holds: more could round up to 1.
  Value eight = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(8));
  Value bits = b.create<arith::ShRUIOp>(loc, word, eight);
  return mul(b, loc, b.create<arith::SIToFPOp>(loc, b.getF32Type(), bits), constant(b, loc, 0x1p-24));
}

}  // namespace sheaf::ir::scalar
