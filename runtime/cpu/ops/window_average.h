// Averages over windows that differ in size, which oneDNN's pooling, with its single kernel size, can't compute.
#pragma once

#include "runtime/steps/pool_shape.h"
#include "runtime/cpu/dnnl/dnnl_format.h"
#include "runtime/cpu/ops/elements.h"

#include <utility>
#include <vector>

namespace sheaf {

/// An averaging that oneDNN has.
inline dnnl::algorithm algorithm_of(const Averaging& average) {
  return average.include_padding ? dnnl::algorithm::pooling_avg_include_padding : dnnl::algorithm::pooling_avg_exclude_padding;
}

/// y[n, i…] = Σ x[n, window] / Π divisors, over `planes` plain planes of 1 to 3 dims. Element: float or BFloat16.
template <typename Element>
class WindowAverage final : public Executable {
 public:
  /// `sizes`: the input's spatial dims; `windows`: for each of them, one window per output position.
  WindowAverage(int64_t planes, std::vector<int64_t> sizes, std::vector<std::vector<Window>> windows, int threads);
  void run(void* const* buffers, void* scratch) override;

 private:
  void average_plane(const Element* x, Element* y) const;

  int64_t planes_;
  std::vector<int64_t> sizes_;  ///< filled up to three with leading ones
  std::vector<std::vector<Window>> windows_;
  int threads_;
};

/// The gradient of WindowAverage: dx[n, i…] = Σ dy[n, o…] / Π divisors over the windows o… that i… is in.
template <typename Element>
class WindowSpread final : public Executable {
 public:
  /// `sizes`, `windows`: as WindowAverage's, of the forward step.
  WindowSpread(int64_t planes, std::vector<int64_t> sizes, std::vector<std::vector<Window>> windows, int threads);
  void run(void* const* buffers, void* scratch) override;

 private:
  void spread_plane(const Element* dy, Element* dx) const;

  int64_t planes_;
  std::vector<int64_t> sizes_;  ///< filled up to three with leading ones
  std::vector<std::vector<Window>> windows_;
  std::vector<std::vector<std::pair<int64_t, int64_t>>> covering_;  ///< by dimension, then element: its windows
  int threads_;
};

}  // namespace sheaf
