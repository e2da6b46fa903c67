// Recordings that hold all of a small step: how a run begins, and small copies from and to the caller's memory.
#pragma once

#include "runtime/device/device.h"

namespace sheaf {

/// A queue that records those, too. Used as the Queue that it is.
class RecordsTransfers {
 public:
  /// Of one copy, at most, and of all copies in a queue's recordings together.
  static constexpr size_t kMostBytes = size_t{64} << 10, kMostBytesOfAll = size_t{256} << 10;

  virtual ~RecordsTransfers() = default;
  /// Queue::begin_run(), if a run begins with a replay of `first`, whose recording begin_first_recording() began.
  virtual void begin_run(RecordedWork& first) = 0;
  /// Queue::begin_recording() for the first work of each run: the recording holds what begin_run() would do.
  virtual Result<void> begin_first_recording() = 0;
  /// Copies `bytes` bytes of the device's memory to `*target`, in the host's. A replay copies to where `*target` points then, and
  /// likewise a replayed fetch() from where its sources point; both arrays, and fetch()'s parts, must outlive the recording. What
  /// a replay brings to the host is there after synchronize().
  virtual void deliver(void* const* target, const void* source, size_t bytes) = 0;
};

}  // namespace sheaf
