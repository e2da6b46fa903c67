// Compiled with -march=x86-64-v4 -mavx512bf16 -mamx-tile -mamx-bf16 (runtime/CMakeLists.txt): products of pairs of bf16 by AMX, whose
// registers are tiles: 16 rows of a by 16 elements of its depth, times 16 of these by 16 columns of b, summed in f32.
//
// Four tiles of sums, 32 × 32, stay in registers over all terms. The last pairs of a depth that isn't whole tiles are multiplied as v4_bf16
// does; a whose depth doesn't lie along its rows is turned first. A row's sums don't depend on how many rows there are.
namespace {
constexpr int lanes = 16;
constexpr int most_rows = 14;  // 28 sums, two of b
}  // namespace

#include "runtime/cpu/winograd/transpose.inc.h"

namespace sheaf::winograd {
namespace {

/// Numbers of tile registers: of sums (row, column), of a by row, of b by column. The instructions take literals.
#define SHEAF_SUM_00 0
#define SHEAF_SUM_01 1
#define SHEAF_SUM_10 2
#define SHEAF_SUM_11 3
#define SHEAF_A_0 4
#define SHEAF_A_1 5
#define SHEAF_B_0 6
#define SHEAF_B_1 7

/// What _tile_loadconfig() takes: eight tiles; those of a and of sums have so many rows.
struct alignas(64) TileConfig {
  explicit constexpr TileConfig(uint8_t height) {
    for (uint16_t& bytes : row_bytes) bytes = 64;
    for (uint8_t& count : rows) count = height;
    rows[SHEAF_B_0] = rows[SHEAF_B_1] = tile;
  }
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[8] = {}, unused_bytes[8] = {};
  uint8_t rows[8] = {}, unused_rows[8] = {};
};

/// One tile or two below each other, of rows `row` elements apart.
template <int rows>
SHEAF_INLINE void load_a(const float* a, int64_t row) {
  _tile_loadd(SHEAF_A_0, a, row * int64_t(sizeof(float)));
  if (rows > 1) _tile_loadd(SHEAF_A_1, a + tile * row, row * int64_t(sizeof(float)));
}
/// One tile or two side by side.
template <int columns>
SHEAF_INLINE void load_b(const float* b, int64_t row) {
  _tile_loadd(SHEAF_B_0, b, row * int64_t(sizeof(float)));
  if (columns > 1) _tile_loadd(SHEAF_B_1, b + tile, row * int64_t(sizeof(float)));
}
template <int rows, int columns>
SHEAF_INLINE void add_products() {
  _tile_dpbf16ps(SHEAF_SUM_00, SHEAF_A_0, SHEAF_B_0);
  if (columns > 1) _tile_dpbf16ps(SHEAF_SUM_01, SHEAF_A_0, SHEAF_B_1);
  if (rows > 1) _tile_dpbf16ps(SHEAF_SUM_10, SHEAF_A_1, SHEAF_B_0);
  if (rows > 1 && columns > 1) _tile_dpbf16ps(SHEAF_SUM_11, SHEAF_A_1, SHEAF_B_1);
}

/// What is added to the sums at a step along the depth.
struct PairTiles {
  static constexpr int depth = tile;
  template <int rows, int columns>
  static SHEAF_INLINE void add(const float* a, int64_t a_row, const float* b, int64_t b_row) {
    load_b<columns>(b, b_row);
    load_a<rows>(a, a_row);
    add_products<rows, columns>();
  }
};
struct PartTiles {
  static constexpr int depth = 2 * tile;
  template <int rows, int columns>
  static SHEAF_INLINE void add(const float* a, int64_t a_row, const float* b, int64_t b_row) {
    load_b<columns>(b + tile * b_row, b_row);
    load_a<rows>(a, a_row);
    add_products<rows, columns>();  // high · low
    load_b<columns>(b, b_row);
    add_products<rows, columns>();  // high · high
    load_a<rows>(a + tile, a_row);
    add_products<rows, columns>();  // low · high
  }
};

/// `rows` × `columns` tiles of c from `row` and `column` on: over `depth` elements of all terms.
template <typename Step, int rows, int columns>
SHEAF_INLINE void multiply_tiles(const Product& p, const ProductTerm* terms, int64_t count, int64_t depth, int64_t row,
                                 int64_t column) {
  float* const c = p.c + row * p.c_row + column;
  const int64_t c_line = p.c_row * int64_t(sizeof(float));
  if (p.accumulate) {
    _tile_loadd(SHEAF_SUM_00, c, c_line);
    if (columns > 1) _tile_loadd(SHEAF_SUM_01, c + tile, c_line);
    if (rows > 1) _tile_loadd(SHEAF_SUM_10, c + tile * p.c_row, c_line);
    if (rows > 1 && columns > 1) _tile_loadd(SHEAF_SUM_11, c + tile * p.c_row + tile, c_line);
  } else {
    _tile_zero(SHEAF_SUM_00);
    _tile_zero(SHEAF_SUM_01);
    _tile_zero(SHEAF_SUM_10);
    _tile_zero(SHEAF_SUM_11);
  }
  const int64_t a_first = row * p.a_row, b_first = column / (2 * lanes) * p.b_panel + column % (2 * lanes);
  for (int64_t t = 0; t < count; ++t) {
    const float *a = terms[t].a + a_first, *b = terms[t].b + b_first;
    for (int64_t k = 0; k < depth; k += Step::depth, a += Step::depth, b += Step::depth * p.b_depth)
      Step::template add<rows, columns>(a, p.a_row, b, p.b_depth);
  }
  _tile_stored(SHEAF_SUM_00, c, c_line);
  if (columns > 1) _tile_stored(SHEAF_SUM_01, c + tile, c_line);
  if (rows > 1) _tile_stored(SHEAF_SUM_10, c + tile * p.c_row, c_line);
  if (rows > 1 && columns > 1) _tile_stored(SHEAF_SUM_11, c + tile * p.c_row + tile, c_line);
}

/// The rows from `row` to `end`, which are whole tiles, or fewer than one that is configured so.
template <typename Step, int columns>
SHEAF_INLINE void multiply_panel(const Product& p, const ProductTerm* terms, int64_t count, int64_t row, int64_t end,
                                 int64_t depth, int64_t column) {
  for (; row + 2 * tile <= end; row += 2 * tile) multiply_tiles<Step, 2, columns>(p, terms, count, depth, row, column);
  if (row < end) multiply_tiles<Step, 1, columns>(p, terms, count, depth, row, column);
}

template <typename Step>
void multiply_rows(const Product& p, const ProductTerm* terms, int64_t count, int64_t row, int64_t end, int64_t depth) {
  for (int64_t column = 0; column < p.columns; column += 2 * lanes) {
    if (p.columns - column >= 2 * lanes) multiply_panel<Step, 2>(p, terms, count, row, end, depth, column);
    else multiply_panel<Step, 1>(p, terms, count, row, end, depth, column);
  }
}

/// Over `depth` elements, which are whole steps, of a whose depth lies along its rows.
template <typename Step>
void multiply_whole(const Product& p, const ProductTerm* terms, int64_t count, int64_t depth) {
  const int64_t rows = p.rows / tile * tile;
  if (rows > 0) {
    static constexpr TileConfig whole(tile);
    _tile_loadconfig(&whole);
    multiply_rows<Step>(p, terms, count, 0, rows, depth);
  }
  if (rows < p.rows) {
    const TileConfig last(uint8_t(p.rows - rows));
    _tile_loadconfig(&last);
    multiply_rows<Step>(p, terms, count, rows, p.rows, depth);
  }
  _tile_release();
}

void multiply_along(const Product& p, const ProductTerm* terms, int64_t count, PairTiles) {
  const int64_t depth = p.depth / tile * tile;
  if (depth == 0) return multiply_terms<Pairs>(p, terms, count);
  multiply_whole<PairTiles>(p, terms, count, depth);
  if (depth == p.depth) return;
  Product rest = p;
  rest.depth = p.depth - depth;
  rest.accumulate = true;
  rest.then_a_bytes = rest.then_b_bytes = 0;
  for (int64_t t = 0; t < count; ++t) {
    rest.a = terms[t].a + depth;
    rest.b = terms[t].b + depth * p.b_depth;
    multiply<Pairs>(rest);
  }
}

void multiply_along(const Product& p, const ProductTerm* terms, int64_t count, PartTiles) {
  multiply_whole<PartTiles>(p, terms, count, p.depth);
}

/// Of a whose rows lie along its depth: 32 of them at a time are turned.
template <typename Step>
void multiply_turned(const Product& p, const ProductTerm* terms, int64_t count) {
  constexpr int64_t most_depth = 256,
                    row = most_depth + tile;  // a multiple of 4096 bytes would be one place of the first cache
  alignas(64) float turned[2 * tile * row];
  Product part = p;
  part.a_row = row;
  part.a_depth = 1;
  for (int64_t i = 0; i < p.rows; i += 2 * tile) {
    part.rows = p.rows - i < 2 * tile ? p.rows - i : 2 * tile;
    part.c = p.c + i * p.c_row;
    part.accumulate = p.accumulate;
    for (int64_t t = 0; t < count; ++t) {
      for (int64_t k = 0; k < p.depth; k += most_depth, part.accumulate = true) {
        part.depth = p.depth - k < most_depth ? p.depth - k : most_depth;
        turn(terms[t].a + k * p.a_depth + i, p.a_depth, turned, row, part.rows, part.depth);
        const ProductTerm term{turned, terms[t].b + k * p.b_depth};
        multiply_along(part, &term, 1, Step());
      }
    }
  }
}

template <typename Step>
void multiply_terms_by_tiles(const Product& p, const ProductTerm* terms, int64_t count) {
  if (p.a_depth == 1) multiply_along(p, terms, count, Step());
  else multiply_turned<Step>(p, terms, count);
}

template <typename Step>
void multiply_by_tiles(const Product& p) {
  const ProductTerm term{p.a, p.b};
  multiply_terms_by_tiles<Step>(p, &term, 1);
}

constexpr KernelTable narrow_by_tiles() {
  KernelTable made = narrow_table("x86-64-v4 with AMX", multiply_by_tiles<PairTiles>, multiply_terms_by_tiles<PairTiles>);
  made.pack_rows = pack_pair_rows;
  return made;
}

constexpr KernelTable split_by_tiles() {
  KernelTable made = table<F32, Parts>("x86-64-v4 with AMX, values in two parts of bf16", multiply_by_tiles<PartTiles>,
                                       multiply_terms_by_tiles<PartTiles>);
  made.pack_rows = pack_part_rows;
  made.pack_run = pack_parts;
  return made;
}

}  // namespace

namespace v4_amx {
const KernelTable narrow = narrow_by_tiles(), split = split_by_tiles();
}
}  // namespace sheaf::winograd
