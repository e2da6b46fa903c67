// The tables of kernels.h; `lanes` and `most_sums`, how many registers of sums a row's pixels are added to at once, are given.
#pragma once

#include "runtime/cpu/depthwise/kernels.h"
#include "runtime/cpu/winograd/vector.inc.h"

#include <utility>

namespace sheaf::depthwise {
namespace {

using winograd::Bf16;
using winograd::F32;
using winograd::Vector;

SHEAF_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
SHEAF_INLINE int64_t larger(int64_t a, int64_t b) { return a < b ? b : a; }

/// A register of channels of some pixels, which lie `channels` apart.
template <typename Element>
SHEAF_INLINE void gather(const typename Element::Value* from, int64_t pixels, int64_t channels, float* to) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel) F32::store(to + pixel * lanes, Element::load(from + pixel * channels));
}

/// A row of y, and the rows of x that some rows of the kernel meet with it.
struct Row {
  const float* const* x;
  const float* dy;
  const Window& window;
};

/// What a row of y adds to `taps` sums, from `first` on, of each of `rows` rows of the kernel. `sums`: of the first row's first tap; `dense`:
/// the dilation is 1.
template <int rows, int taps, bool dense>
void add_taps(const Row& of, int64_t first, float* sums) {
  const Window::Axis& axis = of.window.width;
  const Window::Range* const met = of.window.met + first;
  const int64_t dilation = dense ? 1 : axis.dilation, place = first * axis.dilation - axis.begin;
  Vector own[rows][taps] = {};
  const auto add = [&](int row, int tap, Vector value, int64_t pixel) __attribute__((always_inline)) {
    own[row][tap] += value * F32::load(of.x[row] + (place + pixel * axis.stride + tap * dilation) * lanes);
  };
  // Between the edges all taps meet a pixel of x.
  const int64_t begin = met[0].begin, end = larger(begin, met[taps - 1].end);
  const auto edges = [&]<int... tap>(std::integer_sequence<int, tap...>) __attribute__((always_inline)) {
    const auto edge = [&](int which, int64_t from, int64_t to) __attribute__((always_inline)) {
      for (int64_t pixel = from; pixel < to; ++pixel)
        for (int row = 0; row < rows; ++row) add(row, which, F32::load(of.dy + pixel * lanes), pixel);
    };
    ((edge(tap, met[tap].begin, smaller(begin, met[tap].end)), edge(tap, larger(end, met[tap].begin), met[tap].end)), ...);
  };
  edges(std::make_integer_sequence<int, taps>());
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const Vector value = F32::load(of.dy + pixel * lanes);
    for (int row = 0; row < rows; ++row)
      for (int tap = 0; tap < taps; ++tap) add(row, tap, value, pixel);
  }
  for (int row = 0; row < rows; ++row)
    for (int tap = 0; tap < taps; ++tap) {
      float* const to = sums + (row * axis.taps + tap) * lanes;
      F32::store(to, F32::load(to) + own[row][tap]);
    }
}

/// The same for as many taps as the kernel is wide.
template <int rows, bool dense>
void add_kernel_rows(const Row& of, float* sums) {
  int64_t tap = 0;
  const auto take = [&]<int taps>() __attribute__((always_inline)) {
    for (; tap + taps <= of.window.width.taps; tap += taps) add_taps<rows, taps, dense>(of, tap, sums + tap * lanes);
  };
  if constexpr (rows * 7 <= most_sums) take.template operator()<7>();
  if constexpr (rows * 5 <= most_sums) take.template operator()<5>();
  take.template operator()<3>();
  take.template operator()<1>();
}

/// Rows of the kernel that are added to at once: so many that the sums hide each other's latency, and no more than registers hold.
SHEAF_INLINE int64_t rows_at_once(int64_t taps) { return taps >= 7 ? most_sums / 7 : taps >= 5 ? most_sums / 5 : 3; }

/// The same for `count` rows of the kernel.
template <bool dense>
void add_row(Row of, int64_t count, float* sums) {
  const int64_t most = rows_at_once(of.window.width.taps);
  const auto take = [&]<int rows>() __attribute__((always_inline)) {
    if (rows > most) return;
    for (; rows <= count; count -= rows) {
      add_kernel_rows<rows, dense>(of, sums);
      of.x += rows;
      sums += rows * of.window.width.taps * lanes;
    }
  };
  take.template operator()<3>();
  take.template operator()<2>();
  take.template operator()<1>();
}

template <typename Element>
void add_rows(const void* x_, const void* dy_, const Window& window, int64_t begin, int64_t end, int64_t channel, float* rows,
              float* sums, float* bias) {
  const Window::Axis &height = window.height, &width = window.width;
  const int64_t channels = window.channels;
  const auto* const x = static_cast<const typename Element::Value*>(x_) + channel;
  const auto* const dy = static_cast<const typename Element::Value*>(dy_) + channel;
  const int64_t reach = window.reach();
  float* const given = rows + reach * width.x * lanes;
  int64_t next = 0;  // row of x that no row of y has met
  for (int64_t y = begin; y < end; ++y) {
    gather<Element>(dy + y * width.y * channels, width.y, channels, given);
    if (bias) {
      Vector own{};
      for (int64_t pixel = 0; pixel < width.y; ++pixel) own += F32::load(given + pixel * lanes);
      F32::store(bias, F32::load(bias) + own);
    }
    const int64_t first = y * height.stride - height.begin;
    for (next = larger(next, larger(0, first)); next < smaller(height.x, first + reach); ++next)
      gather<Element>(x + next * width.x * channels, width.x, channels, rows + next % reach * width.x * lanes);
    constexpr int64_t most = 8;
    const float* met[most];
    for (int64_t tap = 0; tap < height.taps;) {
      const int64_t from = tap;
      int64_t count = 0;
      for (; tap < height.taps && count < most; ++tap) {
        const int64_t at = first + tap * height.dilation;
        if (at < 0 || at >= height.x) break;
        met[count++] = rows + at % reach * width.x * lanes;
      }
      if (count == 0) ++tap;  // padding
      else
        (width.dilation == 1 ? add_row<true> : add_row<false>)({met, given, window}, count, sums + from * width.taps * lanes);
    }
  }
}

template <typename Element>
constexpr KernelTable table(const char* instructions) {
  return {instructions, lanes, add_rows<Element>};
}

}  // namespace
}  // namespace sheaf::depthwise
