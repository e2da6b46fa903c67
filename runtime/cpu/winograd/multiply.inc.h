// Products of small matrices (Product, kernels.h). Part of kernels.inc.h.
#pragma once

#include "runtime/cpu/winograd/vector.inc.h"

namespace sheaf::winograd {
namespace {

/// Lines of memory that are brought into the second cache, one at each step along the depth.
struct Lines {
  const char* at;
  int64_t count;
};

/// `rows` × `columns` registers of c: a's elements are broadcast, b's rows are read along. `ahead`: what else to fetch, `line` bytes
/// a step.
template <typename Operand, int rows, int columns>
void multiply_block(const Product& p, const float* a_at, const float* b_at, float* c_at, const char* ahead, int64_t line) {
  Vector sums[rows][columns];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) sums[i][j] = p.accumulate ? F32::load(c_at + i * p.c_row + j * lanes) : Vector{};
  for (int64_t k = 0; k < p.depth; ++k, a_at += p.a_depth, b_at += p.b_depth, ahead += line) {
    constexpr int read = 0, second_cache = 2;
    __builtin_prefetch(ahead, read, second_cache);
    Vector along[columns];
    for (int j = 0; j < columns; ++j) along[j] = F32::load(b_at + j * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) sums[i][j] = Operand::multiply_add(a_at[i * p.a_row], along[j], sums[i][j]);
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) F32::store(c_at + i * p.c_row + j * lanes, sums[i][j]);
}

using Block = void (*)(const Product&, const float*, const float*, float*, const char*, int64_t);

/// of[r - 1] makes r rows.
template <typename Operand, int columns, typename Sequence>
struct Blocks;
template <int... index>
struct Indices {};
template <int count, int... index>
struct Count : Count<count - 1, count - 1, index...> {};
template <int... index>
struct Count<0, index...> {
  using type = Indices<index...>;
};
template <typename Operand, int columns, int... index>
struct Blocks<Operand, columns, Indices<index...>> {
  static constexpr Block of[] = {multiply_block<Operand, index + 1, columns>...};
};

template <typename Operand>
void multiply(const Product& p) {
  constexpr int panel = 2 * lanes;
  constexpr int64_t line = 64;
  using Heights = typename Count<most_rows>::type;
  const int64_t blocks = (p.rows + most_rows - 1) / most_rows;
  const auto lines = [](const void* at, int64_t bytes) {
    return Lines{static_cast<const char*>(at), (bytes + line - 1) / line};
  };
  // The next panel of b, if it is in one run of memory; then what follows.
  Lines ahead[] = {{}, lines(p.then_b, p.then_b_bytes), lines(p.then_a, p.then_a_bytes)};
  for (int64_t column = 0; column < p.columns; column += panel) {
    const Block* of = p.columns - column >= panel ? Blocks<Operand, 2, Heights>::of : Blocks<Operand, 1, Heights>::of;
    const float* b_at = p.b + column / panel * p.b_panel;
    const bool follows = p.b_depth == panel && column + panel < p.columns;
    ahead[0] = lines(b_at + p.b_panel, follows ? p.depth * panel * int64_t(sizeof(float)) : 0);
    int64_t row = 0;
    for (int64_t left = blocks; left > 0; --left) {
      const int64_t height = (p.rows - row) / left;  // of equal heights: a short one would wait for its own sums
      Lines* next = ahead;
      while (next < ahead + 2 && next->count <= 0) ++next;
      const bool any = next->count > 0;
      of[height - 1](p, p.a + row * p.a_row, b_at, p.c + row * p.c_row + column,
                     any ? next->at : reinterpret_cast<const char*>(b_at), any ? line : 0);
      if (any) *next = {next->at + p.depth * line, next->count - p.depth};
      row += height;
    }
  }
}

template <typename Operand>
void multiply_terms(const Product& all, const ProductTerm* terms, int64_t count) {
  Product p = all;
  for (int64_t t = 0; t < count; ++t, p.accumulate = true) {
    p.a = terms[t].a;
    p.b = terms[t].b;
    const bool last = t + 1 == count;
    p.then_a = last ? all.then_a : terms[t + 1].a;
    p.then_b = last ? all.then_b : terms[t + 1].b;
    p.then_a_bytes = p.then_a ? all.then_a_bytes : 0;
    p.then_b_bytes = p.then_b ? all.then_b_bytes : 0;
    multiply<Operand>(p);
  }
}

}  // namespace
}  // namespace sheaf::winograd
