// A backend's calls of its driver during a step, shown in traces so that you can see that a step allocates nothing and
// waits only once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sheaf {

/// Notes calls between start() and stop(), from any thread, without allocating. Off, a call costs one load.
class CallLog {
 public:
  struct Call {
    const char* name = "";       ///< a string literal: "cuGraphLaunch"
    int device = -1;             ///< -1: none in particular
    int64_t begin = 0, end = 0;  ///< ticks (runtime/machine/tick_clock.h)
    unsigned thread = 0;         ///< set by note(): calls of one thread don't overlap
  };

  /// Keeps the first `capacity` calls of a step.
  explicit CallLog(size_t capacity = 8192) : calls_(capacity) {}

  void start();
  /// Ends logging. Returns the logged calls, in the order in which they ended; valid until the next start().
  std::span<const Call> stop();
  bool on() const { return on_.load(std::memory_order_relaxed); }
  void note(Call call);

 private:
  std::vector<Call> calls_;
  std::atomic<size_t> count_{0};
  std::atomic<bool> on_{false};
};

}  // namespace sheaf
