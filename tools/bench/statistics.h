// Durations of steps as a median with its spread and its tail.
#pragma once

#include <cstddef>
#include <vector>

namespace sheaf {

/// Seconds. Quartiles and percentiles are those of the sorted durations, interpolated linearly (as numpy's default).
struct Durations {
  size_t count = 0;
  double median = 0, least = 0, lower_quartile = 0, upper_quartile = 0, most = 0;
  double p95 = 0, p99 = 0;  ///< 95 and 99 of a hundred took this long or less
};

/// For at least one duration.
Durations durations(std::vector<double> seconds);

}  // namespace sheaf
