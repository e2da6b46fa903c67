// Averages over windows that differ in size: what oneDNN's pooling, with its one kernel size, cannot do.
#pragma once

#include "runtime/bind/op.h"

#include <vector>

namespace sheaf {

/// One output position's window along one dimension: elements [begin, end); the average divides by the
/// product of the dimensions' divisors.
struct Window {
  int64_t begin, end, divisor;
};

/// y[n, i…] = Σ x[n, window] / Π divisors, over `planes` plain planes of 1 to 3 dims.
class WindowAverage final : public Executable {
 public:
  /// `sizes`: the input's spatial dims; `windows`: for each of them, one window per output position.
  WindowAverage(int64_t planes, std::vector<int64_t> sizes, std::vector<std::vector<Window>> windows,
                int threads);
  void run(void* const* buffers, void* scratch) override;

 private:
  void average_plane(const float* x, float* y) const;

  int64_t planes_;
  std::vector<int64_t> sizes_;  ///< filled up to three with leading ones
  std::vector<std::vector<Window>> windows_;
  int threads_;
};

}  // namespace sheaf
