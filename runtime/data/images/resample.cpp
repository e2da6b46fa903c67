#include "runtime/data/images/resample.h"

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

// Pillow's: 8 bits of the result, 2 for sums beyond it (libImaging/Resample.c).
constexpr int kWeightBits = 32 - 8 - 2;
constexpr int kHalf = 1 << (kWeightBits - 1);

/// An output pixel: the sum of `count` input pixels from `first` on, each times a weight.
struct Window {
  int first = 0, count = 0;
};

/// The windows of the wanted pixels; window i's weights are at i * (the result) in `weights`.
size_t windows_of(const ResampledAxis& axis, std::vector<Window>& windows, std::vector<int>& weights) {
  const double scale = (axis.to - axis.from) / axis.size, filter_scale = std::max(scale, 1.0);
  const double per_pixel = 1 / filter_scale;
  const auto most = static_cast<size_t>(std::ceil(filter_scale)) * 2 + 1;
  windows.resize(static_cast<size_t>(axis.count));
  weights.assign(windows.size() * most, 0);
  std::vector<double> exact(most);
  for (size_t i = 0; i < windows.size(); ++i) {
    const double center = axis.from + (axis.first + static_cast<double>(i) + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - filter_scale + 0.5), 0);
    const int end = std::min(static_cast<int>(center + filter_scale + 0.5), axis.high - axis.low);
    double sum = 0;
    for (int x = first; x < end; ++x) {
      const double distance = std::fabs((x - center + 0.5) * per_pixel);
      exact[static_cast<size_t>(x - first)] = distance < 1 ? 1 - distance : 0;
      sum += exact[static_cast<size_t>(x - first)];
    }
    for (int x = first; x < end; ++x) {
      const double weight = sum != 0 ? exact[static_cast<size_t>(x - first)] / sum : exact[static_cast<size_t>(x - first)];
      weights[i * most + static_cast<size_t>(x - first)] = static_cast<int>(0.5 + weight * (1 << kWeightBits));
    }
    windows[i] = {axis.low + first, end - first};
  }
  return most;
}

// The inner loops are vectors of 32-bit products, which the oldest x86-64 has no instruction for: they are compiled twice.
#define SHEAF_INLINED [[gnu::always_inline]] inline

SHEAF_INLINED void resample_row(const uint8_t* from, const Window* windows, const int* weights, size_t most, int count,
                                uint8_t* to) {
  for (int i = 0; i < count; ++i, weights += most, to += Picture::kBytes) {
    int sums[4] = {kHalf, kHalf, kHalf, kHalf};
    const uint8_t* pixel = from + static_cast<size_t>(windows[i].first) * Picture::kBytes;
    for (int k = 0; k < windows[i].count; ++k, pixel += Picture::kBytes) {
      for (int c = 0; c < 4; ++c) sums[c] += pixel[c] * weights[k];
    }
    for (int c = 0; c < 4; ++c) to[c] = static_cast<uint8_t>(std::min(sums[c] >> kWeightBits, 255));
  }
}

/// A row of the result: the sum of `window.count` rows, each times a weight. `sums` has room for a row.
SHEAF_INLINED void combine_rows(const uint8_t* rows, size_t bytes, const int* weights, int count, int* sums, uint8_t* to) {
  for (size_t i = 0; i < bytes; ++i) sums[i] = kHalf;
  for (int k = 0; k < count; ++k, rows += bytes) {
    for (size_t i = 0; i < bytes; ++i) sums[i] += rows[i] * weights[k];
  }
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(std::min(sums[i] >> kWeightBits, 255));
}

struct Loops {
  decltype(&resample_row) across;
  decltype(&combine_rows) down;
};

Loops loops() {
#if defined(__x86_64__)
  // No ifunc (target_clones): ThreadSanitizer isn't there yet when those are resolved.
  if (__builtin_cpu_supports("avx2")) {
    return {[](const uint8_t* from, const Window* windows, const int* weights, size_t most, int count, uint8_t* to)
                __attribute__((target("avx2"))) { resample_row(from, windows, weights, most, count, to); },
            [](const uint8_t* rows, size_t bytes, const int* weights, int count, int* sums, uint8_t* to)
                __attribute__((target("avx2"))) { combine_rows(rows, bytes, weights, count, sums, to); }};
  }
#endif
  return {[](const uint8_t* from, const Window* windows, const int* weights, size_t most, int count, uint8_t* to) {
            resample_row(from, windows, weights, most, count, to);
          },
          [](const uint8_t* rows, size_t bytes, const int* weights, int count, int* sums, uint8_t* to) {
            combine_rows(rows, bytes, weights, count, sums, to);
          }};
}

}  // namespace

void resample(const Picture& from, const ResampledAxis& x, const ResampledAxis& y, ResampleScratch& scratch, Picture& to) {
  std::vector<Window> across, down;
  const size_t most_x = windows_of(x, across, scratch.weights_x), most_y = windows_of(y, down, scratch.weights_y);
  to.width = x.count;
  to.height = y.count;
  to.pixels.resize(to.row_bytes() * static_cast<size_t>(to.height));

  // First across, for the rows that are needed, then down: each time rounded to bytes.
  int first = from.height, end = 0;
  for (const Window& window : down) {
    first = std::min(first, window.first);
    end = std::max(end, window.first + window.count);
  }
  const size_t bytes = to.row_bytes();
  scratch.rows.resize(bytes * static_cast<size_t>(std::max(end - first, 0)));
  const Loops by_cpu = loops();
  for (int row = first; row < end; ++row) {
    by_cpu.across(from.row(row), across.data(), scratch.weights_x.data(), most_x, x.count,
                  scratch.rows.data() + static_cast<size_t>(row - first) * bytes);
  }
  scratch.sums.resize(bytes);
  for (int row = 0; row < y.count; ++row) {
    const Window& window = down[static_cast<size_t>(row)];
    by_cpu.down(scratch.rows.data() + static_cast<size_t>(window.first - first) * bytes, bytes,
                scratch.weights_y.data() + static_cast<size_t>(row) * most_y, window.count, scratch.sums.data(), to.row(row));
  }
}

}  // namespace sheaf
