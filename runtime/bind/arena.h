// Arena planning: offsets in one memory block for buffers whose sizes and lifetimes are known exactly. The problem and its
// solution are checked separately from the algorithm (after CIRCT's Scheduling/Problems.h).
#pragma once

#include "runtime/base/error.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sheaf {

/// The space that a buffer of `bytes` takes in an arena whose buffers begin at multiples of `alignment`.
constexpr size_t arena_size(size_t bytes, size_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

/// A buffer that must be there during [begin, end); times are the lane's own (positions in its order of work).
struct ArenaBuffer {
  size_t bytes = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Buffers to place such that no two live at the same time overlap.
struct ArenaProblem {
  std::vector<ArenaBuffer> buffers;
  size_t alignment = 64;  ///< the arena's device's (DeviceInfo)

  /// Errors: an alignment of 0, a lifetime that ends before it begins, sizes whose sum overflows.
  Result<void> check() const;
  /// Bytes live at the worst moment (sizes rounded up to the alignment): no arena can be smaller.
  size_t lower_bound() const;
};

struct ArenaSolution {
  std::vector<size_t> offsets;  ///< one per buffer, multiples of the alignment
  size_t bytes = 0;             ///< of the arena
};

/// Errors: a missing or misaligned offset, a buffer beyond the arena's end, two live buffers that overlap.
Result<void> verify(const ArenaProblem& problem, const ArenaSolution& solution);

/// Places the buffers of a problem that check() accepts. Tries several orders, the classic ones first (largest
/// first, longest-lived first, by time), each with best fit, until one meets the lower bound; returns the
/// smallest. The same problem always gets the same solution.
ArenaSolution plan_arena(const ArenaProblem& problem);

}  // namespace sheaf
