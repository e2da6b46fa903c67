#include "runtime/cpu/ops/window_average.h"

#include <algorithm>

#include "runtime/cpu/thread_pool.h"

namespace sheaf {
namespace {

void fill_up(std::vector<int64_t>& sizes, std::vector<std::vector<Window>>& windows) {
  while (sizes.size() < 3) {
    sizes.insert(sizes.begin(), 1);
    windows.insert(windows.begin(), {Window{0, 1, 1}});
  }
}

/// Planes that make a thread worth waking: a few thousand additions.
int64_t grain_of(int64_t plane_size) { return 1 + 4096 / (1 + plane_size); }

}  // namespace

WindowAverage::WindowAverage(int64_t planes, std::vector<int64_t> sizes,
                             std::vector<std::vector<Window>> windows, int threads)
    : planes_(planes), sizes_(std::move(sizes)), windows_(std::move(windows)), threads_(threads) {
  fill_up(sizes_, windows_);
}

void WindowAverage::run(void* const* buffers, void*) {
  const auto* x = static_cast<const float*>(buffers[0]);
  auto* y = static_cast<float*>(buffers[1]);
  const int64_t size_in = sizes_[0] * sizes_[1] * sizes_[2];
  const int64_t size_out = int64_t(windows_[0].size() * windows_[1].size() * windows_[2].size());
  parallel_for(planes_, grain_of(size_in), threads_, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane)
      average_plane(x + plane * size_in, y + plane * size_out);
  });
}

void WindowAverage::average_plane(const float* x, float* y) const {
  const int64_t height = sizes_[1], width = sizes_[2];
  for (const Window& d : windows_[0]) {
    for (const Window& h : windows_[1]) {
      for (const Window& w : windows_[2]) {
        float sum = 0;
        for (int64_t i = d.begin; i < d.end; ++i)
          for (int64_t j = h.begin; j < h.end; ++j)
            for (int64_t k = w.begin; k < w.end; ++k) sum += x[(i * height + j) * width + k];
        *y++ = sum / float(d.divisor * h.divisor * w.divisor);
      }
    }
  }
}

WindowSpread::WindowSpread(int64_t planes, std::vector<int64_t> sizes,
                           std::vector<std::vector<Window>> windows, int threads)
    : planes_(planes), sizes_(std::move(sizes)), windows_(std::move(windows)), threads_(threads) {
  fill_up(sizes_, windows_);
}

void WindowSpread::run(void* const* buffers, void*) {
  const auto* dy = static_cast<const float*>(buffers[0]);
  auto* dx = static_cast<float*>(buffers[1]);
  const int64_t size_in = sizes_[0] * sizes_[1] * sizes_[2];
  const int64_t size_out = int64_t(windows_[0].size() * windows_[1].size() * windows_[2].size());
  parallel_for(planes_, grain_of(size_in), threads_, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane)
      spread_plane(dy + plane * size_out, dx + plane * size_in);
  });
}

void WindowSpread::spread_plane(const float* dy, float* dx) const {
  const int64_t height = sizes_[1], width = sizes_[2];
  std::fill_n(dx, sizes_[0] * height * width, 0.f);
  for (const Window& d : windows_[0]) {
    for (const Window& h : windows_[1]) {
      for (const Window& w : windows_[2]) {
        const float part = *dy++ / float(d.divisor * h.divisor * w.divisor);
        for (int64_t i = d.begin; i < d.end; ++i)
          for (int64_t j = h.begin; j < h.end; ++j)
            for (int64_t k = w.begin; k < w.end; ++k) dx[(i * height + j) * width + k] += part;
      }
    }
  }
}

}  // namespace sheaf
