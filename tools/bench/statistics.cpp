#include "tools/bench/statistics.h"

#include <algorithm>

namespace sheaf {
namespace {

/// `share` of the way through the sorted values.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace

Durations durations(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {seconds.size(),          quantile(seconds, 0.5), seconds.front(),         quantile(seconds, 0.25),
          quantile(seconds, 0.75), seconds.back(),         quantile(seconds, 0.95), quantile(seconds, 0.99)};
}

}  // namespace sheaf
