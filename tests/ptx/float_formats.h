// Binary floating-point formats, and numbers between them: a value is decoded exactly, and rounded once when encoded.
#pragma once

#include "tests/ptx/types.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace sheaf::ptx {

/// IEEE 754: a sign, `exponent` bits, `mantissa` bits.
struct FloatFormat {
  int exponent;
  int mantissa;
  constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
  constexpr uint64_t infinity() const { return ((uint64_t{1} << exponent) - 1) << mantissa; }
  constexpr uint64_t sign() const { return uint64_t{1} << (exponent + mantissa); }
  /// A GPU's result that is NaN: all ones but the sign (f64 has only the quiet bit).
  constexpr uint64_t nan() const {
    return mantissa == 52 ? infinity() | uint64_t{1} << 51 : infinity() | ((uint64_t{1} << mantissa) - 1);
  }
};
inline constexpr FloatFormat kHalf{5, 10}, kBfloat{8, 7}, kSingle{8, 23}, kDouble{11, 52};

/// (−1)^negative · mantissa · 2^exponent; `sticky`: and a bit more, less than one unit of the mantissa.
struct ExactNumber {
  enum Kind : uint8_t { finite, infinite, nan } kind = finite;
  bool negative = false;
  bool sticky = false;
  uint64_t mantissa = 0;
  int exponent = 0;
};

ExactNumber decode_float(uint64_t bits, FloatFormat format);
ExactNumber exact_integer(uint64_t magnitude, bool negative);
/// `saturate_finite`: a number too large becomes the largest finite number.
uint64_t encode_float(const ExactNumber& number, FloatFormat format, Rounding rounding, bool saturate_finite = false);

inline float half_to_float(uint16_t bits) {
  const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023, sign = uint32_t(bits & 0x8000) << 16;
  if (exponent == 31) return std::bit_cast<float>(sign | (mantissa ? 0x7fffffffu : 0x7f800000u));
  if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f));
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}
inline float bfloat_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline uint16_t double_to_half(double value) {
  return static_cast<uint16_t>(
      encode_float(decode_float(std::bit_cast<uint64_t>(value), kDouble), kHalf, Rounding::nearest_even));
}
inline uint16_t double_to_bfloat(double value) {
  return static_cast<uint16_t>(
      encode_float(decode_float(std::bit_cast<uint64_t>(value), kDouble), kBfloat, Rounding::nearest_even));
}
inline uint16_t float_to_bfloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Subnormal numbers become zeros of their sign.
inline float flush(float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; }
inline float canonical(float value) { return value != value ? std::bit_cast<float>(0x7fffffffu) : value; }
inline double canonical(double value) { return value; }
/// .sat: to [0, 1]; NaN becomes 0.
template <typename T>
inline T saturate(T value) {
  return value > T(0) ? (value < T(1) ? value : T(1)) : T(0);
}

/// x · y + z for narrow formats: rounded to odd, so that a second rounding, to 50 bits or fewer, is right.
inline double fma_round_to_odd(double x, double y, double z) {
  const double product = x * y;  // exact: 11 bits times 11 bits
  const double sum = product + z;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (z - part);
  auto bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || error != error || (bits & 1)) return sum;
  const bool away = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

}  // namespace sheaf::ptx
