// Elements of a tensor as numbers, for the project's loops: float as it is, bf16 widened and rounded back.
#pragma once

#include <bit>
#include <cstdint>

namespace sheaf {

struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;
  /// Rounded to nearest, ties to even; NaN stays NaN.
  explicit BFloat16(float x) {
    const auto wide = std::bit_cast<uint32_t>(x);
    bits = x != x ? 0x7fc0 : static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

}  // namespace sheaf
