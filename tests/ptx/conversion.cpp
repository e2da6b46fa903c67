#include "tests/ptx/conversion.h"

#include <algorithm>

namespace sheaf::ptx {

FloatFormat format_of(Type type) {
  switch (type) {
    case Type::f16:
    case Type::f16x2: return kHalf;
    case Type::bf16:
    case Type::bf16x2: return kBfloat;
    case Type::f32: return kSingle;
    default: return kDouble;
  }
}

namespace {

double to_double(uint64_t bits, Type type) {
  switch (type) {
    case Type::f16: return half_to_float(static_cast<uint16_t>(bits));
    case Type::bf16: return bfloat_to_float(static_cast<uint16_t>(bits));
    case Type::f32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default: return std::bit_cast<double>(bits);
  }
}

double integral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::zero: return std::trunc(value);
    case Rounding::down: return std::floor(value);
    case Rounding::up: return std::ceil(value);
    default: return std::nearbyint(value);
  }
}

uint64_t sign_extended(uint64_t bits, Type type) {
  const int shift = 64 - 8 * bytes_of(type);
  return is_signed(type) ? static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift) : bits << shift >> shift;
}

/// Clamped to the range. NaN gives 0 from narrow floats to 32 bits and less, else only the top bit set.
uint64_t to_integer(double value, const Conversion& c) {
  const int bits = 8 * bytes_of(c.to);
  if (value != value) return c.from != Type::f64 && bits < 64 ? 0 : uint64_t{1} << (bits - 1);
  value = integral(value, c.rounding);
  if (is_signed(c.to)) {
    const double limit = std::ldexp(1.0, bits - 1);
    const uint64_t top = uint64_t{1} << (bits - 1);
    if (value >= limit) return top - 1;
    if (value < -limit) return ~top + 1;
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  if (value <= 0) return 0;
  if (value >= std::ldexp(1.0, bits)) return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return static_cast<uint64_t>(value);
}

uint64_t integer_to_integer(uint64_t bits, const Conversion& c) {
  const uint64_t value = sign_extended(bits, c.from);
  if (!c.sat) return sign_extended(value, c.to);
  const bool negative = is_signed(c.from) && static_cast<int64_t>(value) < 0;
  const int width = 8 * bytes_of(c.to);
  if (!is_signed(c.to)) {
    const uint64_t largest = ~uint64_t{0} >> (64 - width);
    return negative ? 0 : std::min(value, largest);
  }
  const uint64_t largest = (uint64_t{1} << (width - 1)) - 1;
  if (!negative) return std::min(value, largest);
  return static_cast<uint64_t>(std::max(static_cast<int64_t>(value), -static_cast<int64_t>(largest) - 1));
}

uint64_t flush_bits(uint64_t bits, Type type) {
  if (type != Type::f32) return bits;
  return std::bit_cast<uint32_t>(flush(std::bit_cast<float>(static_cast<uint32_t>(bits))));
}

}  // namespace

uint64_t convert(uint64_t bits, const Conversion& c) {
  if (!is_float(c.from) && !is_float(c.to)) return integer_to_integer(bits, c);
  if (!is_float(c.from)) {
    const uint64_t value = sign_extended(bits, c.from);
    const bool negative = is_signed(c.from) && static_cast<int64_t>(value) < 0;
    return encode_float(exact_integer(negative ? 0 - value : value, negative), format_of(c.to), c.rounding);
  }
  if (c.ftz) bits = flush_bits(bits, c.from);
  if (!is_float(c.to)) return to_integer(to_double(bits, c.from), c);
  const FloatFormat format = format_of(c.to);
  uint64_t result;
  if (c.integral) {
    result = encode_float(decode_float(std::bit_cast<uint64_t>(integral(to_double(bits, c.from), c.rounding)), kDouble), format,
                          Rounding::zero);
  } else {
    result = encode_float(decode_float(bits, format_of(c.from)), format, c.rounding, c.satfinite);
  }
  if (c.ftz) result = flush_bits(result, c.to);
  const bool nan = (result & ~format.sign()) > format.infinity();
  if (c.relu && !nan && (result & format.sign())) result = 0;
  if (c.sat) {
    const double value = to_double(result, c.to);
    if (nan || !(value > 0)) result = 0;
    else if (value > 1) result = encode_float(exact_integer(1, false), format, Rounding::zero);
  }
  return result;
}

}  // namespace sheaf::ptx
