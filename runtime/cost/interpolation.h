// Figures that were measured at some points and are wanted between them.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace sheaf {

/// The figure at x: linear over the logarithm of x between two points, and as the nearest one's outside. `points`: at least one, each an x above
/// 0 and its figure, in ascending order.
template <typename X>
double interpolated(const std::vector<std::pair<X, double>>& points, double x) {
  const auto above = std::find_if(points.begin(), points.end(), [&](const auto& point) { return double(point.first) >= x; });
  if (above == points.begin()) return above->second;
  if (above == points.end()) return points.back().second;
  const auto& below = above[-1];
  const double part = std::log(x / double(below.first)) / std::log(double(above->first) / double(below.first));
  return below.second + part * (above->second - below.second);
}

}  // namespace sheaf
