// Compiled with -march=x86-64-v4 -mavx512bf16 (runtime/CMakeLists.txt): products of pairs of bf16, summed in f32.
namespace {
constexpr int lanes = 16;
constexpr int most_rows = 14;  // 28 sums, two of b
}  // namespace

#include <immintrin.h>

#include "runtime/cpu/winograd/kernels.inc.h"

namespace sheaf::winograd {
namespace {

/// Operands in bf16, two values an element: the first in its lower half.
struct Pairs {
  static constexpr int pair = 2;
  using Depth = Two;
  static SHEAF_INLINE void store(float* to, Two values) {
    const auto second = reinterpret_cast<Bits>(_mm512_cvtepu16_epi32(__m256i(_mm512_cvtneps_pbh(values.second))));
    const auto first = reinterpret_cast<Bits>(_mm512_cvtepu16_epi32(__m256i(_mm512_cvtneps_pbh(values.first))));
    F32::store(to, reinterpret_cast<Vector>(first | (second << 16)));
  }
  /// Of values along the depth, from number `value` on.
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

}  // namespace

namespace v4_bf16 {
const KernelTable narrow = table<Bf16, Pairs>("x86-64-v4 with bf16");
}
}  // namespace sheaf::winograd
