// The elements that a pool's windows see along one dimension, for passes that lay windows out one after another.
#pragma once

#include "runtime/ops/adaptive_window.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>

namespace sheaf::passes {

/// The elements of each window in turn; all windows have as many. Where one sees fewer, it repeats some of its own, which changes
/// neither its maximum nor which of equal elements comes first.
struct PoolWindows {
  int64_t places = 0, taps = 0;
  llvm::SmallVector<int64_t> elements;

  /// Of an adaptive pool from `in` elements to `out`.
  static PoolWindows adaptive(int64_t in, int64_t out) {
    PoolWindows windows{out, 0, {}};
    llvm::SmallVector<AdaptiveWindow> all;
    for (int64_t i = 0; i < out; ++i) {
      all.emplace_back(i, in, out);
      windows.taps = std::max(windows.taps, all.back().end - all.back().begin);
    }
    for (const AdaptiveWindow& window : all)
      for (int64_t k = 0; k < windows.taps; ++k) windows.elements.push_back(std::min(window.begin + k, window.end - 1));
    return windows;
  }

  /// Whether the windows' elements, one after another, are all `size` elements in their order.
  bool tile(int64_t size) const {
    if (size != static_cast<int64_t>(elements.size())) return false;
    for (int64_t i = 0; i < size; ++i)
      if (elements[static_cast<size_t>(i)] != i) return false;
    return true;
  }
};

}  // namespace sheaf::passes
