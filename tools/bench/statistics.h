// Durations of steps as a median with its spread.
#pragma once

#include <cstddef>
#include <vector>

namespace sheaf {

/// Seconds. Quartiles are those of the sorted durations, interpolated linearly (as numpy's default).
struct Durations {
  size_t count = 0;
  double median = 0, least = 0, lower_quartile = 0, upper_quartile = 0, most = 0;
};

/// Of at least one duration.
Durations durations(std::vector<double> seconds);

}  // namespace sheaf
