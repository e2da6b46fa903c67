// The instructions of AMX that kernels use, in plain C++, so that their products are tested on CPUs without tiles: put in the place of the
// intrinsics of the same names (emulated_kernels.cpp). After Intel's manual, volume 2: LDTILECFG, TILELOADD, TILESTORED, TILEZERO,
// TILERELEASE, TDPBF16PS. What raises an exception there is a fault here.
//
// Part of a file that is compiled with AVX-512: everything has internal linkage, and no header has inline functions that another file might be
// given by the linker.
#pragma once

#include <float.h>
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace sheaf::test {

/// Reports an instruction that the CPU would have refused. Defined by the program.
void tile_fault(const char* what);

namespace {

constexpr int most_tiles = 8, most_rows_of_tile = 16, most_elements = 16;

/// A thread's tile registers, of 32-bit elements.
struct Tiles {
  bool configured = false;
  uint8_t rows[most_tiles] = {};
  uint16_t row_bytes[most_tiles] = {};
  uint32_t data[most_tiles][most_rows_of_tile][most_elements] = {};
};
thread_local Tiles tiles;

void require_tile(bool holds, const char* what) {
  if (!holds) tile_fault(what);
}

/// The operand of LDTILECFG: the palette, the row to start at, 14 reserved bytes; 16 lengths of rows, bytes; 16 numbers of rows.
void load_config(const void* memory) {
  uint8_t config[64];
  memcpy(config, memory, sizeof(config));
  require_tile(config[0] == 1, "the palette isn't 1");
  require_tile(config[1] == 0, "an interrupted load would be continued");
  for (int i = 2; i < 16; ++i) require_tile(config[i] == 0, "a reserved byte isn't zero");
  for (int i = 16 + 2 * most_tiles; i < 48; ++i) require_tile(config[i] == 0, "a tile beyond the eighth has a length");
  for (int i = 48 + most_tiles; i < 64; ++i) require_tile(config[i] == 0, "a tile beyond the eighth has rows");
  tiles = Tiles{};
  tiles.configured = true;
  memcpy(tiles.row_bytes, config + 16, sizeof(tiles.row_bytes));
  memcpy(tiles.rows, config + 48, sizeof(tiles.rows));
  for (int i = 0; i < most_tiles; ++i) {
    require_tile(tiles.rows[i] <= most_rows_of_tile && tiles.row_bytes[i] <= 4 * most_elements, "a tile is too large");
    require_tile((tiles.rows[i] == 0) == (tiles.row_bytes[i] == 0), "a tile has rows of no length, or no rows");
    require_tile(tiles.row_bytes[i] % 4 == 0, "a row isn't whole elements");
  }
}

void release() { tiles = Tiles{}; }

void require_use(int tile) { require_tile(tiles.configured && tiles.rows[tile] > 0, "a tile isn't configured"); }

void zero(int tile) {
  require_use(tile);
  memset(tiles.data[tile], 0, sizeof(tiles.data[tile]));
}

/// `stride`: bytes from a row to the next one.
void load(int tile, const void* memory, ptrdiff_t stride) {
  zero(tile);
  for (int row = 0; row < tiles.rows[tile]; ++row)
    memcpy(tiles.data[tile][row], static_cast<const char*>(memory) + row * stride, tiles.row_bytes[tile]);
}

void store(int tile, void* memory, ptrdiff_t stride) {
  require_use(tile);
  for (int row = 0; row < tiles.rows[tile]; ++row)
    memcpy(static_cast<char*>(memory) + row * stride, tiles.data[tile][row], tiles.row_bytes[tile]);
}

/// Denormal numbers are zeros, as operands and as results.
inline float flushed(float value) { return __builtin_fabsf(value) < FLT_MIN ? __builtin_copysignf(0, value) : value; }
inline float value_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return flushed(value);
}
inline float first_of(uint32_t pair) { return value_of(pair << 16); }
inline float second_of(uint32_t pair) { return value_of(pair & 0xffff0000); }

/// The pairs' first products are added up by themselves, the second ones likewise, in one rounding each; then both, then the old sum.
void add_products(int to, int a, int b) {
  require_use(to);
  require_use(a);
  require_use(b);
  require_tile(to != a && to != b && a != b, "an instruction has a tile twice");
  require_tile(
      tiles.rows[to] == tiles.rows[a] && tiles.row_bytes[to] == tiles.row_bytes[b] && tiles.row_bytes[a] == 4 * tiles.rows[b],
      "tiles of a product don't fit");
  const int depth = tiles.rows[b], columns = tiles.row_bytes[to] / 4;
  for (int row = 0; row < tiles.rows[to]; ++row) {
    float firsts[most_elements] = {}, seconds[most_elements] = {};
    for (int k = 0; k < depth; ++k) {
      const uint32_t pair = tiles.data[a][row][k];
      const float first = first_of(pair), second = second_of(pair);
      for (int j = 0; j < most_elements; ++j) {
        firsts[j] = flushed(__builtin_fmaf(first, first_of(tiles.data[b][k][j]), firsts[j]));
        seconds[j] = flushed(__builtin_fmaf(second, second_of(tiles.data[b][k][j]), seconds[j]));
      }
    }
    for (int j = 0; j < columns; ++j) {
      const float sum = flushed(value_of(tiles.data[to][row][j]) + flushed(firsts[j] + seconds[j]));
      memcpy(&tiles.data[to][row][j], &sum, sizeof(sum));
    }
  }
}

}  // namespace
}  // namespace sheaf::test

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#define _tile_loadconfig sheaf::test::load_config
#define _tile_release sheaf::test::release
#define _tile_loadd sheaf::test::load
#define _tile_stored sheaf::test::store
#define _tile_zero sheaf::test::zero
#define _tile_dpbf16ps sheaf::test::add_products
