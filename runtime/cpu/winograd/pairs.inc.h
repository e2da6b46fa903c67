// Operands of products in bf16 (KernelTable::pair is 2), for the tables whose instructions multiply such. Part of kernels_v4_bf16.cpp and
// kernels_v4_amx.cpp.
#pragma once

#include <immintrin.h>

#include "runtime/cpu/winograd/kernels.inc.h"

namespace sheaf::winograd {
namespace {

/// Operands in bf16, two values an element: the first in its lower half.
struct Pairs {
  static constexpr int pair = 2, depth_unit = 2, step = 2;
  using Depth = Two;
  static SHEAF_INLINE void store(float* to, int64_t index, int64_t stride, Two values) {
    const auto second = reinterpret_cast<Bits>(_mm512_cvtepu16_epi32(__m256i(_mm512_cvtneps_pbh(values.second))));
    const auto first = reinterpret_cast<Bits>(_mm512_cvtepu16_epi32(__m256i(_mm512_cvtneps_pbh(values.first))));
    F32::store(to + index * stride, reinterpret_cast<Vector>(first | (second << 16)));
  }
  static SHEAF_INLINE void store_along(float* to, int64_t value, Vector values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + value / pair), __m256i(_mm512_cvtneps_pbh(values)));
  }
  static SHEAF_INLINE Vector multiply_add(float a, Vector b, Vector sum) {
    return _mm512_dpbf16_ps(sum, __m512bh(_mm512_set1_ps(a)), __m512bh(b));
  }
  /// The next one, of `count` that there are, and the one after it or zeros.
  template <typename Get>
  static SHEAF_INLINE Two gather(Get get, int64_t count) {
    return {get(0), count > 1 ? get(1) : Vector{}};
  }
};

/// 16 channels of images `image` and the next one, of `images` that there are, in pairs.
SHEAF_INLINE __m512i paired(const uint16_t* pixel, int64_t image, int64_t images, int64_t channel, int64_t channels) {
  const auto load = [&](int64_t of) {
    if (of >= images) return _mm512_setzero_si512();
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(pixel + of * channels + channel)));
  };
  return _mm512_or_si512(load(image), _mm512_slli_epi32(load(image + 1), 16));
}

/// As pack_images() of the table, without a way through f32.
void pack_pairs(const void* pixel, float* to, int64_t images, int64_t channels) {
  const auto* from = static_cast<const uint16_t*>(pixel);
  for (int64_t image = 0; image < images; image += 2)
    for (int64_t channel = 0; channel < channels; channel += lanes)
      _mm512_storeu_si512(to + image / 2 * channels + channel, paired(from, image, images, channel, channels));
}

template <typename... Products>
constexpr KernelTable narrow_table(const char* instructions, Products... products) {
  KernelTable made = table<Bf16, Pairs>(instructions, products...);
  made.pack_images = pack_pairs;
  return made;
}

}  // namespace
}  // namespace sheaf::winograd
