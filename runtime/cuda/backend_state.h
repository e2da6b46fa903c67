// What the devices of one backend share: its driver, where memory lies, how far their queues have come.
#pragma once

#include "runtime/cuda/library.h"
#include "runtime/cuda/memory_map.h"
#include "runtime/cuda/progress.h"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sheaf::cuda {

class PinnedRing;
struct Rows;

class BackendState {
 public:
  explicit BackendState(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  /// The one state of `backend`.
  static std::shared_ptr<BackendState> of(const std::shared_ptr<Backend>& backend);

  Driver& driver() { return backend_->driver(); }
  Backend& backend() { return *backend_; }
  MemoryMap memory;

  /// `device` gets a queue: it and those that have one already reach each other's memory where they can, before anything runs.
  void meet(int device);
  /// Whether `device` reaches `peer`'s memory; the first call enables the access.
  Result<bool> reaches(int device, int peer);
  /// The communicator of a list of devices, opened on first request. Null, with the reason in `why`, if there is none.
  Result<std::shared_ptr<Communicator>> communicator(std::span<const int> devices, std::string& why);

  /// The means to tell a queue's guarded work to do nothing, while other work of the queue still goes on.
  struct Alarm {
    int32_t* flag = nullptr;  ///< in the device's memory
    Stream stream = nullptr;  ///< of its own
  };
  /// A queue's: how far it has come, what it copies to the host's memory, and its alarm. Until forget().
  void watch(Progress* queue, std::shared_ptr<PinnedRing> results, const Alarm& alarm);
  void forget(Progress* queue);

  /// A queue takes no more work, because of `why`. Guarded work of all queues does nothing from here on; then work that waits
  /// for a member that won't come is ended (its data aren't there, and must not reach a variable); later communicators are
  /// opened anew. Returns why the first of the present queues failed, which caused the others' failures.
  std::shared_ptr<const Error> stop(Progress* queue, std::shared_ptr<const Error> why);
  /// Returns when no more data are on their way from a GPU to this host memory, except those in `except`. Errors: as
  /// wait_until().
  Result<void> settle(const Rows& memory, const PinnedRing* except = nullptr);
  /// Grows while any queue's work goes on.
  uint64_t progress();
  /// What each queue's device ran last, one line each.
  std::vector<std::string> report();

  /// `why`, why work failed, with what each queue's device ran last.
  Error explain(Error why);

  /// A wait was in vain: the device may never come back, so from here on nobody waits for it, nor frees what it may still use.
  /// `lost()` is then why; null before.
  const Error& lose(Error why);
  const Error* lost() const { return lost_.load(std::memory_order_acquire); }

 private:
  std::shared_ptr<Backend> backend_;
  std::mutex mutex_;  ///< never held while waiting
  std::map<std::pair<int, int>, bool> reaches_;
  std::set<int> met_;  ///< devices that have a queue
  struct Opened {
    std::shared_ptr<Communicator> communicator;
    std::string why;
  };
  std::mutex communicators_mutex_;
  std::map<std::vector<int>, Opened> communicators_;  ///< by devices in order of rank
  struct Watched {
    uint64_t number = 0;  ///< counts from 1
    Progress* progress = nullptr;
    std::shared_ptr<PinnedRing> results;
    Alarm alarm;
  };
  void raise_alarms();
  void abort_communicators();

  std::mutex failures_mutex_;                                                 ///< held while alarms are raised
  std::vector<std::pair<Progress*, std::shared_ptr<const Error>>> failures_;  ///< of queues, in order of time
  std::vector<Watched> queues_;                                               ///< by number
  uint64_t last_queue_ = 0;
  Error why_lost_;
  std::atomic<const Error*> lost_{nullptr};
};

/// Paces the polls of a wait: quick ones first, for work that is nearly done, then fewer. Ends the wait once nothing has been
/// done on any of the backend's devices for `deadline`, because their queues may wait for each other.
class Patience {
 public:
  Patience(BackendState& state, Seconds deadline);
  /// Call while the awaited work isn't done. Errors: somebody has waited in vain, this wait or another.
  Result<void> wait();

 private:
  using Clock = std::chrono::steady_clock;
  BackendState& state_;
  Seconds deadline_;
  Clock::time_point begin_, looked_, moved_;
  uint64_t progress_ = 0;
  int questions_ = 0;
};

/// Returns when `done()`, a Result<bool>, is true. Errors: its own, or that the deadline has passed.
template <typename Done>
Result<void> wait_until(BackendState& state, Seconds deadline, Done&& done) {
  if (const Error* lost = state.lost()) return *lost;
  Patience patience(state, deadline);
  for (;;) {
    auto answer = done();
    if (!answer) return state.explain(std::move(answer.error()));
    if (*answer) return {};
    SHEAF_TRY(patience.wait());
  }
}

}  // namespace sheaf::cuda
