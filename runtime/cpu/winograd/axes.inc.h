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
    t[0] = multiply_add(d[0], product, multiply_add(d[2], -sum, d[4]));
    const V even_a = multiply_add(d[2], -b2, d[4]), odd_a = multiply_add(d[1], -b2, d[3]);
    t[1] = multiply_add(odd_a, a, even_a);
    t[2] = multiply_add(odd_a, -a, even_a);
    const V even_b = multiply_add(d[2], -a2, d[4]), odd_b = multiply_add(d[1], -a2, d[3]);
    t[3] = multiply_add(odd_b, b, even_b);
    t[4] = multiply_add(odd_b, -b, even_b);
    t[5] = multiply_add(d[1], product, multiply_add(d[3], -sum, d[5]));
  }
};

/// Aᵀ.
struct FinishY {
  static constexpr int from = window_size, to = tile_size;
  template <typename V>
  static SHEAF_INLINE void apply(const V* m, V* y) {
    const V even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
    y[0] = m[0] + even_a + even_b;
    y[1] = multiply_add(odd_a, a, odd_b * b);
    y[2] = multiply_add(even_a, a2, even_b * b2);
    y[3] = multiply_add(odd_a, a3, multiply_add(odd_b, b3, m[5]));
  }
};

/// A.
struct TransformDy {
  static constexpr int from = tile_size, to = window_size;
  template <typename V>
  static SHEAF_INLINE void apply(const V* y, V* t) {
    t[0] = y[0];
    const V even_a = multiply_add(y[2], a2, y[0]), odd_a = multiply_add(y[3], a3, y[1] * a);
    t[1] = even_a + odd_a;
    t[2] = even_a - odd_a;
    const V even_b = multiply_add(y[2], b2, y[0]), odd_b = multiply_add(y[3], b3, y[1] * b);
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
    const V even_a = multiply_add(w[2], a2, w[0]) * scale_a;
    t[1] = multiply_add(w[1], a * scale_a, even_a);
    t[2] = multiply_add(w[1], -a * scale_a, even_a);
    const V even_b = multiply_add(w[2], b2, w[0]) * scale_b;
    t[3] = multiply_add(w[1], b * scale_b, even_b);
    t[4] = multiply_add(w[1], -b * scale_b, even_b);
    t[5] = w[2];
  }
};

/// Gᵀ.
struct FinishDweight {
  static constexpr int from = window_size, to = kernel_size;
  template <typename V>
  static SHEAF_INLINE void apply(const V* m, V* w) {
    const V even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
    w[0] = multiply_add(m[0], scale_0, multiply_add(even_a, scale_a, even_b * scale_b));
    w[1] = multiply_add(odd_a, a * scale_a, odd_b * (b * scale_b));
    w[2] = multiply_add(even_a, a2 * scale_a, multiply_add(even_b, b2 * scale_b, m[5]));
  }
};

}  // namespace
}  // namespace sheaf::winograd
