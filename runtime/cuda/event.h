// A point in a queue's work: in its compute stream, and in its copy stream if that has separate work.
#pragma once

#include "runtime/cuda/pinned_ring.h"

namespace sheaf::cuda {

/// Why a queue takes no more work, shared with the events that it has recorded since.
using Failure = std::shared_ptr<const Error>;

class CudaEvent final : public Event {
 public:
  static Result<std::unique_ptr<CudaEvent>> make(std::shared_ptr<BackendState> state, int device);
  ~CudaEvent() override;
  /// In addition, the queue's copies to the host's memory have arrived when this returns.
  Result<void> synchronize() override;

  // From the queue that recorded it last. Read only by code that knows it did, so no lock is needed.
  DriverEvent computed = nullptr, copied = nullptr;
  bool copies = false;                  ///< `copied` counts too
  std::shared_ptr<PinnedRing> results;  ///< on their way to the host
  uint64_t results_until = 0;           ///< piece
  Failure failure;
  Seconds deadline = kDeadline;  ///< the queue's
  const BackendState& state() const { return *state_; }

 private:
  explicit CudaEvent(std::shared_ptr<BackendState> state) : state_(std::move(state)) {}
  std::shared_ptr<BackendState> state_;
};

}  // namespace sheaf::cuda
