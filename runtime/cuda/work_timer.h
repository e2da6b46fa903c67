// When the work of a queue ran on its device: a timed event before and after each piece, and the device's clock set against the host's.
#pragma once

#include "runtime/cuda/backend_state.h"
#include "runtime/machine/tick_clock.h"

#include <array>
#include <vector>

namespace sheaf::cuda {

/// Used by the queue's thread. Makes events where a run has more pieces than any before.
class WorkTimer {
 public:
  WorkTimer(BackendState& state, int device) : state_(state), device_(device) {}
  ~WorkTimer();
  WorkTimer(const WorkTimer&) = delete;
  WorkTimer& operator=(const WorkTimer&) = delete;

  /// A run begins.
  void restart() { count_ = 0; }
  /// A piece begins in `stream`. Errors, also below: the driver's.
  Result<void> begin(Stream stream);
  /// The present piece, if there is one, has its work in `stream`, which copies beside the other work. Call it before the first
  /// of that work.
  Result<void> move(Stream stream);
  Result<void> end();
  /// Once all work is done: each piece's times. `idle`: a stream without work. Errors: likewise, or of a wait.
  Result<void> read(Stream idle, Seconds deadline, std::span<WorkTimes> times);

 private:
  struct Piece {
    /// `moved`: the beginning in another stream. An event of its own: `begin` may still be ahead of its stream's work.
    DriverEvent begin = nullptr, done = nullptr, moved = nullptr;
    bool beside = false;
  };
  /// An event of now.
  struct Now {
    DriverEvent event = nullptr;
    int64_t ticks = 0;
  };
  Result<Now> now(Stream idle, Seconds deadline, const TickScale::Fixed& scale);

  BackendState& state_;
  int device_;
  TickScale scale_;
  std::vector<Piece> pieces_;
  size_t count_ = 0;         ///< of this run
  Stream stream_ = nullptr;  ///< the present piece's; null: there is none
  std::array<DriverEvent, 16> tries_{};
};

}  // namespace sheaf::cuda
