// What a cvt instruction computes.
#pragma once

#include "tests/ptx/float_formats.h"

namespace sheaf::ptx {

/// A form of cvt; packed, Instruction::immediate.
struct Conversion {
  Type to, from;
  Rounding rounding;
  bool integral;  ///< rounds to an integer
  bool ftz, sat, relu, satfinite;

  int64_t pack() const {
    return int64_t(to) | int64_t(from) << 8 | int64_t(rounding) << 16 | int64_t{integral} << 24 | int64_t{ftz} << 25 |
           int64_t{sat} << 26 | int64_t{relu} << 27 | int64_t{satfinite} << 28;
  }
  static Conversion unpack(int64_t bits) {
    return {Type(bits & 255),     Type(bits >> 8 & 255), Rounding(bits >> 16 & 255), bool(bits >> 24 & 1),
            bool(bits >> 25 & 1), bool(bits >> 26 & 1),  bool(bits >> 27 & 1),       bool(bits >> 28 & 1)};
  }
};

FloatFormat format_of(Type type);

/// One number of type `from` to one of type `to`, in the low bits; integers are extended to 64 bits by their sign.
uint64_t convert(uint64_t bits, const Conversion& c);

}  // namespace sheaf::ptx
