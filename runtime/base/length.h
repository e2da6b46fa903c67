// Lengths: sizes besides the batch that a run determines, such as a sequence's (docs/lengths.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sheaf {

struct Length {
  std::string name;
  int64_t largest = 0;  ///< 0: any
};

/// Numbers by the lengths that they are for.
using LengthNumbers = std::map<std::string, int64_t>;

}  // namespace sheaf
