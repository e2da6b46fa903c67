// Queues on which a run is put in before the one before it is done.
#pragma once

#include "runtime/device/device.h"

#include <span>

namespace sheaf {

/// How a run begins. Two may be under way at a time, of different phases.
struct RunBegin {
  /// 0 or 1; operations report their failures by it (Executable::failed()).
  int phase = 0;
  /// Operations may have failed before: it is forgotten. Else none has, or the run of the other phase is under way, whose
  /// failures count for this one too.
  bool clears = true;
  /// Then: where that run ends, on this queue and on others. This one comes after all of them, and so do its copy_ahead().
  std::span<Event* const> after{};
};

/// A queue of that kind. Used as the Queue that it is.
class OverlapsRuns {
 public:
  virtual ~OverlapsRuns() = default;
  /// As Queue::begin_run(), which is this with a RunBegin of its own.
  virtual void begin_run(const RunBegin& begin) = 0;
  /// Ends a run whose work, but for copy_ahead(), is in the queue, without a wait: another may begin, of the other phase. `end` is
  /// one of the same device.
  virtual void end_run(Event& end) = 0;
  /// Returns when the older run under way is done. Errors: as synchronize(), which is what follows them.
  virtual Result<void> finish_run() = 0;
  /// Something else has made guarded work of this queue do nothing, and may do so again: runs come one at a time, and clear that.
  virtual bool disturbed() const = 0;
};

}  // namespace sheaf
