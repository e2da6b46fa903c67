#include "runtime/bind/buckets.h"

#include <algorithm>

namespace sheaf {

std::vector<std::vector<size_t>> assign_buckets(std::span<const size_t> sizes, std::span<const size_t> limits) {
  std::vector<std::vector<size_t>> buckets;
  bool full = true;
  size_t bytes = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (full) {
      buckets.emplace_back();
      bytes = 0;
    }
    buckets.back().push_back(i);
    bytes += sizes[i];
    full = bytes >= limits[std::min(buckets.size(), limits.size()) - 1];
  }
  return buckets;
}

}  // namespace sheaf
