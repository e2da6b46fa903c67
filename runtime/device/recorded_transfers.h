// Recordings that hold all of a small step: also its small copies from and to the caller's memory.
#pragma once

#include "runtime/device/device.h"

namespace sheaf {

/// A queue that records those, too. Used as the Queue that it is.
class RecordsTransfers {
 public:
  /// Of one copy, at most, and of all copies in a queue's recordings together.
  static constexpr size_t kMostBytes = size_t{64} << 10, kMostBytesOfAll = size_t{256} << 10;

  virtual ~RecordsTransfers() = default;
  /// Copies `bytes` bytes of the device's memory to `*target`, in the host's. A replay copies to where `*target` points then, and
  /// likewise a replayed fetch() from where its sources point; both arrays, and fetch()'s parts, must outlive the recording. What
  /// a replay brings to the host is there after synchronize() or finish_run(). A recording is replayed once in a run, and in runs of the
  /// phase that it was recorded in.
  virtual void deliver(void* const* target, const void* source, size_t bytes) = 0;
};

}  // namespace sheaf
