// Values of the tables of kernels.h in registers: how activations and weights are stored, and products' operands. Part of
// kernels.inc.h; `lanes` is given.
#pragma once

#include "runtime/cpu/winograd/kernels.h"

#define SHEAF_INLINE inline __attribute__((always_inline))

namespace sheaf::winograd {
namespace {

typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));
typedef uint32_t Bits __attribute__((vector_size(lanes * sizeof(uint32_t))));
typedef uint16_t Halves __attribute__((vector_size(lanes * sizeof(uint16_t))));
typedef float LooseVector __attribute__((vector_size(lanes * sizeof(float)), aligned(sizeof(float))));
typedef uint16_t LooseHalves __attribute__((vector_size(lanes * sizeof(uint16_t)), aligned(sizeof(uint16_t))));

SHEAF_INLINE Vector all(float x) { return x - Vector{}; }

/// a · b + c in one rounding. Left to the compiler, which sums become one would depend on what else is computed at once (rows, positions),
/// and the bits with it: nothing else in kernels that use it is a product that is added to.
SHEAF_INLINE Vector multiply_add(Vector a, Vector b, Vector c) { return __builtin_elementwise_fma(a, b, c); }
SHEAF_INLINE Vector multiply_add(Vector a, float b, Vector c) { return multiply_add(a, all(b), c); }

/// Two rows, or two positions along the depth, at once: what becomes pairs.
struct Two {
  Vector first, second;
};
SHEAF_INLINE Two operator+(Two a, Two b) { return {a.first + b.first, a.second + b.second}; }
SHEAF_INLINE Two operator-(Two a, Two b) { return {a.first - b.first, a.second - b.second}; }
SHEAF_INLINE Two operator*(Two a, float b) { return {a.first * b, a.second * b}; }
SHEAF_INLINE Two multiply_add(Two a, float b, Two c) {
  return {multiply_add(a.first, b, c.first), multiply_add(a.second, b, c.second)};
}

struct F32 {
  using Value = float;
  static SHEAF_INLINE Vector load(const Value* from) { return *reinterpret_cast<const LooseVector*>(from); }
  static SHEAF_INLINE void store(Value* to, Vector values) { *reinterpret_cast<LooseVector*>(to) = values; }
  static SHEAF_INLINE float widen(Value value) { return value; }
};

/// Rounded to nearest, ties to even; NaN stays one.
struct Bf16 {
  using Value = uint16_t;
  static SHEAF_INLINE Vector load(const Value* from) {
    const Halves halves = *reinterpret_cast<const LooseHalves*>(from);
    return reinterpret_cast<Vector>(__builtin_convertvector(halves, Bits) << 16);
  }
  static SHEAF_INLINE Bits round(Vector values) {
    const Bits bits = reinterpret_cast<Bits>(values);
    const Bits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16, quiet = (bits >> 16) | 0x40;
    const Bits nan = reinterpret_cast<Bits>(values != values);
    return (nan & quiet) | (~nan & rounded);
  }
  static SHEAF_INLINE void store(Value* to, Vector values) {
    *reinterpret_cast<LooseHalves*>(to) = __builtin_convertvector(round(values), Halves);
  }
  static SHEAF_INLINE float widen(Value value) {
    const uint32_t bits = uint32_t(value) << 16;
    return __builtin_bit_cast(float, bits);
  }
};

/// Operands in f32: one value an element.
struct Singles {
  static constexpr int pair = 1, depth_unit = 1;
  static constexpr int step = 1;  ///< values along the depth that are stored at once
  using Depth = Vector;           ///< these, of columns or rows side by side
  /// Step number `index` along the depth, whose elements are `stride` apart.
  static SHEAF_INLINE void store(float* to, int64_t index, int64_t stride, Vector values) {
    F32::store(to + index * stride, values);
  }
  /// Of values along the depth, from number `value` on.
  static SHEAF_INLINE void store_along(float* to, int64_t value, Vector values) { F32::store(to + value, values); }
  static SHEAF_INLINE Vector multiply_add(float a, Vector b, Vector sum) { return winograd::multiply_add(b, a, sum); }
  /// A step's values, of `count` that there are from its first on.
  template <typename Get>
  static SHEAF_INLINE Vector gather(Get get, int64_t) {
    return get(0);
  }
};

}  // namespace
}  // namespace sheaf::winograd
