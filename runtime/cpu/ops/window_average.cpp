#include "runtime/cpu/ops/window_average.h"

#include <algorithm>

#include "runtime/machine/thread_pool.h"

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

template <typename Element>
WindowAverage<Element>::WindowAverage(int64_t planes, std::vector<int64_t> sizes, std::vector<std::vector<Window>> windows,
                                      int threads)
    : planes_(planes), sizes_(std::move(sizes)), windows_(std::move(windows)), threads_(threads) {
  fill_up(sizes_, windows_);
}

template <typename Element>
void WindowAverage<Element>::run(void* const* buffers, void*) {
  const auto* x = static_cast<const Element*>(buffers[0]);
  auto* y = static_cast<Element*>(buffers[1]);
  const int64_t size_in = sizes_[0] * sizes_[1] * sizes_[2];
  const int64_t size_out = int64_t(windows_[0].size() * windows_[1].size() * windows_[2].size());
  parallel_for(planes_, grain_of(size_in), threads_, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) average_plane(x + plane * size_in, y + plane * size_out);
  });
}

template <typename Element>
void WindowAverage<Element>::average_plane(const Element* x, Element* y) const {
  const int64_t height = sizes_[1], width = sizes_[2];
  for (const Window& d : windows_[0]) {
    for (const Window& h : windows_[1]) {
      for (const Window& w : windows_[2]) {
        float sum = 0;
        for (int64_t i = d.begin; i < d.end; ++i)
          for (int64_t j = h.begin; j < h.end; ++j)
            for (int64_t k = w.begin; k < w.end; ++k) sum += float(x[(i * height + j) * width + k]);
        *y++ = Element(sum / float(d.divisor * h.divisor * w.divisor));
      }
    }
  }
}

template <typename Element>
WindowSpread<Element>::WindowSpread(int64_t planes, std::vector<int64_t> sizes, std::vector<std::vector<Window>> windows,
                                    int threads)
    : planes_(planes), sizes_(std::move(sizes)), windows_(std::move(windows)), threads_(threads) {
  fill_up(sizes_, windows_);
  // Windows are in order, so those that hold an element are neighbours.
  for (size_t dim = 0; dim < windows_.size(); ++dim) {
    std::vector<std::pair<int64_t, int64_t>> covering;
    int64_t first = 0, last = 0;
    const auto count = int64_t(windows_[dim].size());
    for (int64_t i = 0; i < sizes_[dim]; ++i) {
      while (first < count && windows_[dim][size_t(first)].end <= i) ++first;
      while (last < count && windows_[dim][size_t(last)].begin <= i) ++last;
      covering.emplace_back(first, std::max(first, last));
    }
    covering_.push_back(std::move(covering));
  }
}

template <typename Element>
void WindowSpread<Element>::run(void* const* buffers, void*) {
  const auto* dy = static_cast<const Element*>(buffers[0]);
  auto* dx = static_cast<Element*>(buffers[1]);
  const int64_t size_in = sizes_[0] * sizes_[1] * sizes_[2];
  const int64_t size_out = int64_t(windows_[0].size() * windows_[1].size() * windows_[2].size());
  parallel_for(planes_, grain_of(size_in), threads_, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) spread_plane(dy + plane * size_out, dx + plane * size_in);
  });
}

template <typename Element>
void WindowSpread<Element>::spread_plane(const Element* dy, Element* dx) const {
  const int64_t height = int64_t(windows_[1].size()), width = int64_t(windows_[2].size());
  for (const auto& [d0, d1] : covering_[0]) {
    for (const auto& [h0, h1] : covering_[1]) {
      for (const auto& [w0, w1] : covering_[2]) {
        float sum = 0;
        for (int64_t d = d0; d < d1; ++d)
          for (int64_t h = h0; h < h1; ++h)
            for (int64_t w = w0; w < w1; ++w)
              sum += float(dy[(d * height + h) * width + w]) /
                     float(windows_[0][size_t(d)].divisor * windows_[1][size_t(h)].divisor * windows_[2][size_t(w)].divisor);
        *dx++ = Element(sum);
      }
    }
  }
}

template class WindowAverage<float>;
template class WindowAverage<BFloat16>;
template class WindowSpread<float>;
template class WindowSpread<BFloat16>;

}  // namespace sheaf
