// Compiled with -march=x86-64-v4 -mavx512bf16 -mamx-tile -mamx-bf16 (runtime/CMakeLists.txt): products of pairs of bf16 by AMX, whose
// registers are tiles: 16 rows of a by 16 elements of its depth, times 16 of these by 16 columns of b, summed in f32.
//
// Four tiles of sums, 32 × 32, stay in registers over all terms. The last elements of a depth that isn't whole tiles, and a whose depth
// doesn't lie along its rows, are multiplied as v4_bf16 does. A row's sums don't depend on how many rows there are.
namespace {
constexpr int lanes = 16;
constexpr int most_rows = 14;  // 28 sums, two of b
}  // namespace

#include "runtime/cpu/winograd/pairs.inc.h"

namespace sheaf::winograd {
namespace {

constexpr int tile = 16;  ///< rows, columns, and elements along the depth

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

/// `rows` × `columns` tiles of c from `row` and `column` on: over `depth` elements of all terms.
template <int rows, int columns>
SHEAF_INLINE void multiply_tiles(const Product& p, const ProductTerm* terms, int64_t count, int64_t depth, int64_t row,
                                 int64_t column) {
  constexpr auto bytes = int64_t(sizeof(float));
  float* const c = p.c + row * p.c_row + column;
  const int64_t c_line = p.c_row * bytes, a_line = p.a_row * bytes, b_line = p.b_depth * bytes;
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
    for (int64_t k = 0; k < depth; k += tile, a += tile, b += tile * p.b_depth) {
      _tile_loadd(SHEAF_B_0, b, b_line);
      if (columns > 1) _tile_loadd(SHEAF_B_1, b + tile, b_line);
      _tile_loadd(SHEAF_A_0, a, a_line);
      _tile_dpbf16ps(SHEAF_SUM_00, SHEAF_A_0, SHEAF_B_0);
      if (columns > 1) _tile_dpbf16ps(SHEAF_SUM_01, SHEAF_A_0, SHEAF_B_1);
      if (rows > 1) {
        _tile_loadd(SHEAF_A_1, a + tile * p.a_row, a_line);
        _tile_dpbf16ps(SHEAF_SUM_10, SHEAF_A_1, SHEAF_B_0);
        if (columns > 1) _tile_dpbf16ps(SHEAF_SUM_11, SHEAF_A_1, SHEAF_B_1);
      }
    }
  }
  _tile_stored(SHEAF_SUM_00, c, c_line);
  if (columns > 1) _tile_stored(SHEAF_SUM_01, c + tile, c_line);
  if (rows > 1) _tile_stored(SHEAF_SUM_10, c + tile * p.c_row, c_line);
  if (rows > 1 && columns > 1) _tile_stored(SHEAF_SUM_11, c + tile * p.c_row + tile, c_line);
}

/// The rows from `row` to `end`, which are whole tiles, or fewer than one that is configured so.
template <int columns>
SHEAF_INLINE void multiply_panel(const Product& p, const ProductTerm* terms, int64_t count, int64_t row, int64_t end,
                                 int64_t depth, int64_t column) {
  for (; row + 2 * tile <= end; row += 2 * tile) multiply_tiles<2, columns>(p, terms, count, depth, row, column);
  if (row < end) multiply_tiles<1, columns>(p, terms, count, depth, row, column);
}

SHEAF_INLINE void multiply_rows(const Product& p, const ProductTerm* terms, int64_t count, int64_t row, int64_t end,
                                int64_t depth) {
  for (int64_t column = 0; column < p.columns; column += 2 * lanes) {
    if (p.columns - column >= 2 * lanes) multiply_panel<2>(p, terms, count, row, end, depth, column);
    else multiply_panel<1>(p, terms, count, row, end, depth, column);
  }
}

void multiply_terms_by_tiles(const Product& p, const ProductTerm* terms, int64_t count) {
  const int64_t rows = p.rows / tile * tile, depth = p.depth / tile * tile;
  if (p.a_depth != 1 || depth == 0 || count == 0) return multiply_terms<Pairs>(p, terms, count);
  if (rows > 0) {
    static constexpr TileConfig whole(tile);
    _tile_loadconfig(&whole);
    multiply_rows(p, terms, count, 0, rows, depth);
  }
  if (rows < p.rows) {
    const TileConfig last(uint8_t(p.rows - rows));
    _tile_loadconfig(&last);
    multiply_rows(p, terms, count, rows, p.rows, depth);
  }
  _tile_release();
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

void multiply_by_tiles(const Product& p) {
  const ProductTerm term{p.a, p.b};
  multiply_terms_by_tiles(p, &term, 1);
}

/// 16 rows of 16 elements of 32 bits, columns made rows.
SHEAF_INLINE void transpose(__m512i (&rows)[tile]) {
  __m512i half[tile];
  for (int i = 0; i < tile; i += 2) {
    half[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    half[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < tile; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(half[i], half[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(half[i], half[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(half[i + 1], half[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(half[i + 1], half[i + 3]);
  }
  // Now rows[4 g + j] has, in each quarter q, column 4 q + j of the four rows 4 g to 4 g + 3.
  for (int j = 0; j < 4; ++j) {
    const __m512i low0 = _mm512_shuffle_i32x4(rows[j], rows[4 + j], 0x44),
                  high0 = _mm512_shuffle_i32x4(rows[j], rows[4 + j], 0xee);
    const __m512i low1 = _mm512_shuffle_i32x4(rows[8 + j], rows[12 + j], 0x44),
                  high1 = _mm512_shuffle_i32x4(rows[8 + j], rows[12 + j], 0xee);
    half[j] = _mm512_shuffle_i32x4(low0, low1, 0x88);
    half[4 + j] = _mm512_shuffle_i32x4(low0, low1, 0xdd);
    half[8 + j] = _mm512_shuffle_i32x4(high0, high1, 0x88);
    half[12 + j] = _mm512_shuffle_i32x4(high0, high1, 0xdd);
  }
  for (int i = 0; i < tile; ++i) rows[i] = half[i];
}

void pack_rows(const void* pixel, float* to, int64_t row_stride, int64_t images, int64_t channels) {
  const auto* from = static_cast<const uint16_t*>(pixel);
  for (int64_t image = 0; image < images; image += 2 * tile) {
    const int64_t pairs = (images - image + 1) / 2;
    const auto kept = __mmask16(pairs >= tile ? 0xffff : (1 << pairs) - 1);
    for (int64_t channel = 0; channel < channels; channel += tile) {
      __m512i rows[tile];
      for (int i = 0; i < tile; ++i) rows[i] = paired(from, image + 2 * i, images, channel, channels);
      transpose(rows);
      for (int i = 0; i < tile; ++i) _mm512_mask_storeu_epi32(to + (channel + i) * row_stride + image / 2, kept, rows[i]);
    }
  }
}

constexpr KernelTable by_tiles() {
  KernelTable made = narrow_table("x86-64-v4 with AMX");
  made.multiply = multiply_by_tiles;
  made.multiply_terms = multiply_terms_by_tiles;
  made.pack_rows = pack_rows;
  return made;
}

}  // namespace

namespace v4_amx {
const KernelTable narrow = by_tiles();
}
}  // namespace sheaf::winograd
