// Elements of 32 bits, rows made columns: a, as products by AMX read it, of what lies along its rows. Part of kernels_v4_amx.cpp.
#pragma once

#include "runtime/cpu/winograd/pairs.inc.h"
#include "runtime/cpu/winograd/parts.inc.h"

namespace sheaf::winograd {
namespace {

constexpr int tile = 16;  ///< of AMX: rows, columns, and elements along the depth

/// 16 rows of 16 elements.
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

/// The first `count` of 16.
SHEAF_INLINE __mmask16 first_of(int64_t count) { return __mmask16(count >= tile ? 0xffff : (1 << count) - 1); }

/// [depth, rows], rows of the depth `depth_stride` elements apart → [rows, depth], `row_stride` apart, in whole lines of 16 elements.
void turn(const float* from, int64_t depth_stride, float* to, int64_t row_stride, int64_t rows, int64_t depth) {
  for (int64_t k = 0; k < depth; k += tile) {
    for (int64_t row = 0; row < rows; row += tile) {
      __m512i block[tile];
      for (int i = 0; i < tile; ++i) {
        const __mmask16 kept = k + i < depth ? first_of(rows - row) : __mmask16(0);
        block[i] = _mm512_maskz_loadu_epi32(kept, from + (k + i) * depth_stride + row);
      }
      transpose(block);
      for (int i = 0; i < tile && row + i < rows; ++i) _mm512_storeu_si512(to + (row + i) * row_stride + k, block[i]);
    }
  }
}

/// pack_rows() of bf16 activations.
void pack_pair_rows(const void* pixel, float* to, int64_t row_stride, int64_t images, int64_t channels) {
  const auto* from = static_cast<const uint16_t*>(pixel);
  for (int64_t image = 0; image < images; image += 2 * tile) {
    const __mmask16 kept = first_of((images - image + 1) / 2);
    for (int64_t channel = 0; channel < channels; channel += tile) {
      __m512i rows[tile];
      for (int i = 0; i < tile; ++i) rows[i] = paired(from, image + 2 * i, images, channel, channels);
      transpose(rows);
      for (int i = 0; i < tile; ++i) _mm512_mask_storeu_epi32(to + (channel + i) * row_stride + image / 2, kept, rows[i]);
    }
  }
}

/// pack_rows() of f32 activations, split.
void pack_part_rows(const void* pixel, float* to, int64_t row_stride, int64_t images, int64_t channels) {
  const auto* from = static_cast<const float*>(pixel);
  for (int64_t image = 0; image < images; image += Parts::depth_unit) {
    for (int64_t channel = 0; channel < channels; channel += tile) {
      __m512i high[tile], low[tile];
      for (int i = 0; i < tile; ++i) {
        const int64_t first = image + 2 * i;
        const Two values =
            Parts::gather([&](int64_t next) { return F32::load(from + (first + next) * channels + channel); }, images - first);
        const Parts::Split a = Parts::split(values.first), b = Parts::split(values.second);
        high[i] = Parts::paired(a.high, b.high);
        low[i] = Parts::paired(a.low, b.low);
      }
      transpose(high);
      transpose(low);
      for (int i = 0; i < tile; ++i) {
        float* const at = to + (channel + i) * row_stride + image;
        _mm512_storeu_si512(at, high[i]);
        _mm512_storeu_si512(at + Parts::low_part, low[i]);
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::winograd
