// Finds operations that could run at the same time: none writes what another touches.
#pragma once

#include "runtime/bind/launches.h"

#include <algorithm>
#include <map>
#include <vector>

namespace sheaf {

/// What a set of operations reads and writes, to decide whether one more could run at the same time.
class Touched {
 public:
  bool allows(const std::vector<OperandRange>& operands) const {
    return std::none_of(operands.begin(), operands.end(), [&](const OperandRange& range) {
      return range.bytes > 0 && (overlaps(writes_, range) || (range.writes && overlaps(reads_, range)));
    });
  }
  void add(const std::vector<OperandRange>& operands) {
    for (const OperandRange& range : operands) {
      if (range.bytes == 0) continue;
      const char*& end = (range.writes ? writes_ : reads_)[range.begin];
      end = std::max(end, range.begin + range.bytes);
      longest_ = std::max(longest_, range.bytes);
    }
  }

 private:
  using Ranges = std::map<const char*, const char*>;  ///< begin to end
  bool overlaps(const Ranges& ranges, const OperandRange& range) const {
    const char* end = range.begin + range.bytes;
    for (auto at = ranges.lower_bound(end); at != ranges.begin();) {
      --at;
      if (at->second > range.begin) return true;
      if (range.begin - at->first >= static_cast<std::ptrdiff_t>(longest_)) return false;  // none before reaches so far
    }
    return false;
  }
  Ranges reads_, writes_;
  size_t longest_ = 0;
};

}  // namespace sheaf
