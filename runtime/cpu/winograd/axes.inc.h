// The transforms of kernels.h along one axis. Part of kernels.inc.h.
#pragma once

#include "runtime/cpu/winograd/vector.inc.h"

namespace sheaf::winograd {
namespace {

// The points ±a and ±b; with M(p) = p (p² - a²)(p² - b²) = p⁵ - sum p³ + product p.
constexpr float a = 0.625f, b = 1.5f, a2 = a * a, b2 = b * b, a3 = a2 * a, b3 = b2 * b, sum = a2 + b2, product = a2 * b2;
constexpr float scale_a = 1 / (2 * a2 * (a2 - b2)), scale_b = 1 / (2 * b2 * (b2 - a2)), scale_0 = 1 / product;

// Each takes `from` values along an axis to `to`, as Vector or Two.

/// Bᵀ.
struct TransformX {
  static constexpr int from = window_size, to = window_size;
  template <typename V>
  static SHEAF_INLINE void apply(const V* d, V* t) {
    t[0] = product * d[0] - sum * d[2] + d[4];
    const V even_a = d[4] - b2 * d[2], odd_a = a * (d[3] - b2 * d[1]);
    t[1] = even_a + odd_a;
    t[2] = even_a - odd_a;
    const V even_b = d[4] - a2 * d[2], odd_b = b * (d[3] - a2 * d[1]);
    t[3] = even_b + odd_b;
    t[4] = even_b - odd_b;
    t[5] = product * d[1] - sum * d[3] + d[5];
  }
};

/// Aᵀ.
struct FinishY {
  static constexpr int from = window_size, to = tile_size;
  template <typename V>
  static SHEAF_INLINE void apply(const V* m, V* y) {
    const V even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
    y[0] = m[0] + even_a + even_b;
    y[1] = a * odd_a + b * odd_b;
    y[2] = a2 * even_a + b2 * even_b;
    y[3] = a3 * odd_a + b3 * odd_b + m[5];
  }
};

/// A.
struct TransformDy {
  static constexpr int from = tile_size, to = window_size;
  template <typename V>
  static SHEAF_INLINE void apply(const V* y, V* t) {
    t[0] = y[0];
    const V even_a = y[0] + a2 * y[2], odd_a = a * y[1] + a3 * y[3];
    t[1] = even_a + odd_a;
    t[2] = even_a - odd_a;
    const V even_b = y[0] + b2 * y[2], odd_b = b * y[1] + b3 * y[3];
    t[3] = even_b + odd_b;
    t[4] = even_b - odd_b;
    t[5] = y[3];
  }
};

/// G.
struct TransformWeight {
  static constexpr int from = kernel_size, to = window_size;
  template <typename V>
  static SHEAF_INLINE void apply(const V* w, V* t) {
    t[0] = w[0] * scale_0;
    const V even_a = (w[0] + a2 * w[2]) * scale_a, odd_a = w[1] * (a * scale_a);
    t[1] = even_a + odd_a;
    t[2] = even_a - odd_a;
    const V even_b = (w[0] + b2 * w[2]) * scale_b, odd_b = w[1] * (b * scale_b);
    t[3] = even_b + odd_b;
    t[4] = even_b - odd_b;
    t[5] = w[2];
  }
};

/// Gᵀ.
struct FinishDweight {
  static constexpr int from = window_size, to = kernel_size;
  template <typename V>
  static SHEAF_INLINE void apply(const V* m, V* w) {
    const V even_a = (m[1] + m[2]) * scale_a, odd_a = (m[1] - m[2]) * scale_a;
    const V even_b = (m[3] + m[4]) * scale_b, odd_b = (m[3] - m[4]) * scale_b;
    w[0] = m[0] * scale_0 + even_a + even_b;
    w[1] = a * odd_a + b * odd_b;
    w[2] = a2 * even_a + b2 * even_b + m[5];
  }
};

}  // namespace
}  // namespace sheaf::winograd
