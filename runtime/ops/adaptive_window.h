// The windows of adaptive pools.
#pragma once

#include <cstdint>

namespace sheaf {

/// The elements [begin, end) of window `at` of an adaptive pool from `in` elements to `out`: from ⌊at·in/out⌋ to ⌈(at+1)·in/out⌉, as
/// PyTorch's start_index and end_index.
struct AdaptiveWindow {
  int64_t begin, end;
  AdaptiveWindow(int64_t at, int64_t in, int64_t out) : begin(at * in / out), end(((at + 1) * in + out - 1) / out) {}
};

}  // namespace sheaf
