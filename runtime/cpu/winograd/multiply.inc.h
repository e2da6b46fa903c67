// Products of small matrices (Product, kernels.h). Part of kernels.inc.h.
#include "runtime/cpu/winograd/vector.inc.h"

namespace sheaf::winograd {
namespace {

/// `rows` × `columns` registers of c: a's elements are broadcast, b's rows are read along.
template <typename Operand, int rows, int columns>
void multiply_block(const Product& p, const float* a_at, const float* b_at, float* c_at) {
  Vector sums[rows][columns];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) sums[i][j] = p.accumulate ? F32::load(c_at + i * p.c_row + j * lanes) : Vector{};
  for (int64_t k = 0; k < p.depth; ++k, a_at += p.a_depth, b_at += p.b_depth) {
    Vector along[columns];
    for (int j = 0; j < columns; ++j) along[j] = F32::load(b_at + j * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) sums[i][j] = Operand::multiply_add(a_at[i * p.a_row], along[j], sums[i][j]);
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) F32::store(c_at + i * p.c_row + j * lanes, sums[i][j]);
}

using Block = void (*)(const Product&, const float*, const float*, float*);

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
  using Heights = typename Count<most_rows>::type;
  const int64_t blocks = (p.rows + most_rows - 1) / most_rows;
  for (int64_t column = 0; column < p.columns; column += panel) {
    const Block* of = p.columns - column >= panel ? Blocks<Operand, 2, Heights>::of : Blocks<Operand, 1, Heights>::of;
    const float* b_at = p.b + column / panel * p.b_panel;
    int64_t row = 0;
    for (int64_t left = blocks; left > 0; --left) {
      const int64_t height = (p.rows - row) / left;  // of equal heights: a short one would wait for its own sums
      of[height - 1](p, p.a + row * p.a_row, b_at, p.c + row * p.c_row + column);
      row += height;
    }
  }
}

}  // namespace
}  // namespace sheaf::winograd
