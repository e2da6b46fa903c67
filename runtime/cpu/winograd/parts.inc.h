// Operands made of f32 whose values are split into two parts of bf16 (kernels.h): in the place of 32 values along the depth 16 elements with
// pairs of high parts, then 16 with pairs of low ones. Part of kernels_v4_amx.cpp.
#pragma once

#include <immintrin.h>

#include "runtime/cpu/winograd/kernels.inc.h"

namespace sheaf::winograd {
namespace {

struct Parts {
  static constexpr int pair = 1, depth_unit = 32, step = 2;
  static constexpr int low_part = 16;  ///< elements from a pair of high parts to that of low ones
  using Depth = Two;

  struct Split {
    __m256i high, low;
  };
  static SHEAF_INLINE Vector widen(__m256i part) {
    return reinterpret_cast<Vector>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16));
  }
  /// Both rounded to nearest, so that the low part is 2⁻⁸ of the value or less, and what the product of two low ones lacks has either sign.
  static SHEAF_INLINE Split split(Vector values) {
    const auto high = __m256i(_mm512_cvtneps_pbh(values));
    // An instruction that names its rounding: the compiler would make one of this difference and a product that `values` is, here and there.
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {high, __m256i(_mm512_cvtneps_pbh(_mm512_sub_round_ps(values, widen(high), nearest)))};
  }
  static SHEAF_INLINE int64_t element(int64_t pair_index) { return pair_index / low_part * depth_unit + pair_index % low_part; }
  static SHEAF_INLINE __m512i paired(__m256i first, __m256i second) {
    return _mm512_or_si512(_mm512_cvtepu16_epi32(first), _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
  }

  static SHEAF_INLINE void store(float* to, int64_t index, int64_t stride, Two values) {
    float* const at = to + element(index) * stride;
    const Split first = split(values.first), second = split(values.second);
    _mm512_storeu_si512(at, paired(first.high, second.high));
    _mm512_storeu_si512(at + low_part * stride, paired(first.low, second.low));
  }
  static SHEAF_INLINE void store_along(float* to, int64_t value, Vector values) {
    float* const at = to + element(value / 2);
    const Split both = split(values);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), both.high);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + low_part), both.low);
  }
  /// The next one, of `count` that there are, and the one after it, or zeros.
  template <typename Get>
  static SHEAF_INLINE Two gather(Get get, int64_t count) {
    return {count > 0 ? get(0) : Vector{}, count > 1 ? get(1) : Vector{}};
  }
};

void pack_parts(const void* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += lanes) Parts::store_along(to, i, F32::load(static_cast<const float*>(from) + i));
}

}  // namespace
}  // namespace sheaf::winograd
