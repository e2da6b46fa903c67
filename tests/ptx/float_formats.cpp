#include "tests/ptx/float_formats.h"

namespace sheaf::ptx {

ExactNumber decode_float(uint64_t bits, FloatFormat format) {
  ExactNumber number;
  number.negative = bits & format.sign();
  const uint64_t mantissa = bits & ((uint64_t{1} << format.mantissa) - 1);
  const int exponent = static_cast<int>(bits >> format.mantissa & ((uint64_t{1} << format.exponent) - 1));
  if (exponent == (1 << format.exponent) - 1) {
    number.kind = mantissa ? ExactNumber::nan : ExactNumber::infinite;
    return number;
  }
  number.mantissa = exponent ? mantissa | uint64_t{1} << format.mantissa : mantissa;
  number.exponent = (exponent ? exponent : 1) - format.bias() - format.mantissa;
  return number;
}

ExactNumber exact_integer(uint64_t magnitude, bool negative) {
  ExactNumber number;
  number.negative = negative;
  number.mantissa = magnitude;
  return number;
}

uint64_t encode_float(const ExactNumber& number, FloatFormat format, Rounding rounding, bool saturate_finite) {
  if (number.kind == ExactNumber::nan) return format.nan();
  const uint64_t sign = number.negative ? format.sign() : 0;
  const uint64_t largest = format.infinity() - 1;
  if (number.kind == ExactNumber::infinite) return sign | (saturate_finite ? largest : format.infinity());
  if (number.mantissa == 0 && !number.sticky) return sign;
  // Brings the mantissa to one bit more than the format's; the bits that drop off on the right decide the rounding.
  uint64_t mantissa = number.mantissa;
  int exponent = number.exponent;
  const int lowest = 1 - format.bias() - format.mantissa;  // of subnormal numbers
  const int excess = 64 - std::countl_zero(mantissa | 1) - (format.mantissa + 1);
  int shift = std::max(excess, lowest - exponent);
  bool half = false, rest = number.sticky;
  if (shift > 0) {
    if (shift > 64) {
      rest |= mantissa != 0;
      mantissa = 0;
    } else {
      half = mantissa >> (shift - 1) & 1;
      rest |= (mantissa & ((uint64_t{1} << (shift - 1)) - 1)) != 0;
      mantissa = shift == 64 ? 0 : mantissa >> shift;
    }
    exponent += shift;
  } else {
    // Exact, unless `sticky` stands for a part below: callers provide enough bits then.
    const int room = std::min(-excess, exponent - lowest);
    mantissa <<= room;
    exponent -= room;
  }
  bool up = false;
  switch (rounding) {
    case Rounding::none:
    case Rounding::nearest_even: up = half && (rest || (mantissa & 1)); break;
    case Rounding::nearest_away: up = half; break;
    case Rounding::zero: break;
    case Rounding::down: up = number.negative && (half || rest); break;
    case Rounding::up: up = !number.negative && (half || rest); break;
  }
  mantissa += up;
  if (mantissa >> (format.mantissa + 1)) {
    mantissa >>= 1;
    ++exponent;
  }
  const bool normal = mantissa >> format.mantissa;
  const int biased = normal ? exponent + format.bias() + format.mantissa : 0;
  if (biased >= (1 << format.exponent) - 1) {
    const bool clamp = saturate_finite || rounding == Rounding::zero || (rounding == Rounding::down && !number.negative) ||
                       (rounding == Rounding::up && number.negative);
    return sign | (clamp ? largest : format.infinity());
  }
  return sign | static_cast<uint64_t>(biased) << format.mantissa | (mantissa & ((uint64_t{1} << format.mantissa) - 1));
}

}  // namespace sheaf::ptx
