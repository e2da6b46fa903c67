// The tables of kernels.h; `lanes` and `most_rows`, whose sums registers hold at once, are given. The sums of a row's gates, of a register of
// hidden units, become the new state before they leave their registers.
#pragma once

#include "runtime/cpu/recurrent/kernels.h"
#include "runtime/cpu/winograd/vector.inc.h"

namespace sheaf::recurrent {
namespace {

using winograd::all, winograd::multiply_add, winograd::Vector;
using winograd::F32;

typedef int32_t Integers __attribute__((vector_size(lanes * sizeof(int32_t))));

/// x, not below `least` nor above `most`; NaN stays.
SHEAF_INLINE Vector within(Vector x, float least, float most) {
  const Vector low = all(least), high = all(most);
  x = x < low ? low : x;
  return x > high ? high : x;
}

/// A polynomial, the coefficient of the highest power first.
template <int count>
SHEAF_INLINE Vector polynomial(Vector x, const float (&coefficients)[count]) {
  Vector sum = all(coefficients[0]);
  for (int i = 1; i < count; ++i) sum = multiply_add(sum, x, all(coefficients[i]));
  return sum;
}

/// 1 + e^-x, whose inverse is the logistic function; finite. 2ⁿ · e^f with |f| at most ½ ln 2, e^f by Cephes' polynomial (expf).
SHEAF_INLINE Vector one_and_exp_of_minus(Vector x) {
  constexpr float to_integer = 0x1.8p23f;  // added, it leaves no bits behind the point
  const Vector minus = within(-x, -87.3f, 88.f), shifted = multiply_add(minus, all(1.44269504f), all(to_integer));
  const Vector n = shifted - to_integer;
  const Vector f = multiply_add(n, all(2.12194440e-4f), multiply_add(n, all(-0.693359375f), minus));
  constexpr float coefficients[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                    4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
  const Vector y = multiply_add(polynomial(f, coefficients) * f, f, f) + 1.f;
  return 1.f + reinterpret_cast<Vector>(reinterpret_cast<Integers>(y) + (reinterpret_cast<Integers>(shifted) << 23));
}

/// tanh x as a quotient of polynomials, that of Eigen (generic_fast_tanh_float): the callers divide once for several functions.
struct Tanh {
  Vector above, below;
  explicit SHEAF_INLINE Tanh(Vector x) {
    constexpr float numerator[] = {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f, 5.12229709037114e-08f,
                                   1.48572235717979e-05f,  6.37261928875436e-04f, 4.89352455891786e-03f};
    constexpr float denominator[] = {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f,
                                     4.89352518554385e-03f};
    x = within(x, -7.90531110763549805f, 7.90531110763549805f);
    above = polynomial(x * x, numerator) * x;
    below = polynomial(x * x, denominator);
  }
};

constexpr int sums = 4;  ///< of a row and a register of units

/// i, f, g, o.
struct Lstm {
  static constexpr int gates = 4;
  static constexpr int sum_of(bool, int gate) { return gate; }
  static SHEAF_INLINE void finish(const Step& s, int64_t row, int64_t unit, const Vector (&of)[sums]) {
    float* const c = s.c + row * s.hidden + unit;
    const Tanh g(of[2]);
    const Vector next = F32::load(c) / one_and_exp_of_minus(of[1]) + g.above / (g.below * one_and_exp_of_minus(of[0]));
    F32::store(c, next);
    const Tanh out(next);
    F32::store(s.y + row * s.y_row + unit, out.above / (out.below * one_and_exp_of_minus(of[3])));
  }
};

/// z, r, n; the reset gate multiplies what the state adds to n.
struct Gru {
  static constexpr int gates = 3;
  static constexpr int sum_of(bool by_state, int gate) { return by_state && gate == 2 ? 3 : gate; }
  static SHEAF_INLINE void finish(const Step& s, int64_t row, int64_t unit, const Vector (&of)[sums]) {
    const Tanh n(of[2] + of[3] / one_and_exp_of_minus(of[1]));
    const Vector value = n.above / n.below, before = F32::load(s.h.first + row * s.h.row + unit);
    F32::store(s.y + row * s.y_row + unit, value + (before - value) / one_and_exp_of_minus(of[0]));
  }
};

/// Adds what an input gives to a panel of units. Meanwhile the next panel's weights are fetched into the second cache, of each depth's lines
/// the one whose `turn` it is.
template <typename Cell, int rows, bool by_state>
SHEAF_INLINE void add(const Input& input, int64_t row, int64_t panel, int64_t next, int64_t turn, Vector (&own)[rows][sums]) {
  constexpr int width = Cell::gates * lanes, line = 64 / sizeof(float), read = 0, second_cache = 2;
  const float* from = input.first + row * input.row;
  const float* weight = input.weight + panel * input.depth * width;
  const bool fetch = turn * line < width;
  const float* ahead = fetch ? input.weight + next * input.depth * width + turn * line : weight;
  for (int64_t k = 0; k < input.depth; ++k, ++from, weight += width, ahead += fetch ? width : 0) {
    __builtin_prefetch(ahead, read, second_cache);
    Vector along[Cell::gates];
    for (int gate = 0; gate < Cell::gates; ++gate) along[gate] = F32::load(weight + gate * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i)
      for (int gate = 0; gate < Cell::gates; ++gate) {
        Vector& sum = own[i][Cell::sum_of(by_state, gate)];
        sum = multiply_add(all(from[i * input.row]), along[gate], sum);
      }
  }
}

template <typename Cell, int rows>
__attribute__((noinline)) void make_rows(const Step& s, int64_t row, int64_t panel, int64_t next, int64_t turn) {
  Vector own[rows][sums];
  const int64_t unit = panel * lanes;
  for (int sum = 0; sum < sums; ++sum) {
    const Vector bias = F32::load(s.bias + sum * s.hidden + unit);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) own[i][sum] = bias;
  }
  add<Cell, rows, false>(s.x, row, panel, next, turn, own);
  add<Cell, rows, true>(s.h, row, panel, next, turn, own);
  // Unrolled, or else the sums would be in memory all along, in order to be found by their indices.
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) Cell::finish(s, row + i, unit, own[i]);
}

/// Calls make_rows for `height` rows, at most `rows`.
template <typename Cell, int rows>
SHEAF_INLINE void make_some(const Step& s, int64_t height, int64_t row, int64_t panel, int64_t next, int64_t turn) {
  if constexpr (rows > 1) {
    if (height < rows) return make_some<Cell, rows - 1>(s, height, row, panel, next, turn);
  }
  make_rows<Cell, rows>(s, row, panel, next, turn);
}

template <typename Cell>
void make_step(const Step& s) {
  const int64_t panels = s.hidden / lanes, blocks = (s.rows + most_rows - 1) / most_rows;
  for (int64_t panel = 0; panel < panels; ++panel) {
    const int64_t next = panel + 1 < panels ? panel + 1 : 0;  // the first one's turn comes again with the next element
    int64_t row = 0;
    for (int64_t left = blocks; left > 0; --left) {
      const int64_t height = (s.rows - row) / left;  // of equal heights: a short one would wait for its own sums
      make_some<Cell, most_rows>(s, height, row, panel, next, blocks - left);
      row += height;
    }
  }
}

}  // namespace
}  // namespace sheaf::recurrent
