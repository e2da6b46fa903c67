// State shared by the devices of one backend: its driver, the map of memory, the progress of their queues.
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

class CudaRankLink;
class PinnedRing;
struct Rows;

class BackendState {
 public:
  explicit BackendState(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  /// The single state of `backend`.
  static std::shared_ptr<BackendState> of(const std::shared_ptr<Backend>& backend);

  Driver& driver() { return backend_->driver(); }
  Backend& backend() { return *backend_; }
  MemoryMap memory;

  /// `device` gets a queue: enables access, where possible, to and from the memory of all that have one, before anything runs.
  void meet(int device);
  /// Whether `device` can access `peer`'s memory; the first call enables it.
  Result<bool> reaches(int device, int peer);
  /// The communicator of a list of devices, opened on first request. Null, with the reason in `why`, if there is none.
  Result<std::shared_ptr<Communicator>> communicator(std::span<const int> devices, std::string& why);

  /// Until forget(): it is aborted when communicators are.
  void keep(CudaRankLink* link);
  void forget(CudaRankLink* link);

  /// A way to tell a queue's guarded work to do nothing, while other work of the queue continues.
  struct Alarm {
    int32_t* flag = nullptr;  ///< in the device's memory
    Stream stream = nullptr;  ///< of its own
  };
  /// A queue's entry: its progress, its copies to the host's memory, and its alarm. Until forget().
  void watch(Progress* queue, std::shared_ptr<PinnedRing> results, const Alarm& alarm);
  void forget(Progress* queue);

  /// A queue takes no more work, because of `why`. Guarded work of all queues does nothing from now on; then work that waits
  /// for a member that won't come is ended (its data is missing, and must not reach a variable); later communicators are
  /// opened afresh. Returns why the first of the present queues failed, which caused the others' failures.
  std::shared_ptr<const Error> stop(Progress* queue, std::shared_ptr<const Error> why);
  /// Returns when no more data is on its way from a GPU to this host memory, except the pieces in `except`. Errors: as
  /// wait_until().
  Result<void> settle(const Rows& memory, const PinnedRing* except = nullptr);
  /// Whether stop() or lose() was ever called: guarded work of any queue may do nothing.
  bool alarmed() const { return alarmed_.load(std::memory_order_acquire); }
  /// Grows while any queue's work goes on.
  uint64_t progress();
  /// What each queue's device ran last, one line each.
  std::vector<std::string> report();

  /// `why`, why work failed, with what each queue's device ran last.
  Error explain(Error why);

  /// A wait failed: the device may never come back, so from now on nothing waits for it or frees memory that it may still use.
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
  std::mutex links_mutex_;
  std::vector<CudaRankLink*> links_;
  struct Watched {
    uint64_t number = 0;  ///< counts from 1
    Progress* progress = nullptr;
    std::shared_ptr<PinnedRing> results;
    Alarm alarm;
  };
  void raise_alarms();
  void abort_communicators(const Error& why);

  std::mutex failures_mutex_;                                                 ///< held while alarms are raised
  std::vector<std::pair<Progress*, std::shared_ptr<const Error>>> failures_;  ///< of queues, in order of time
  std::vector<Watched> queues_;                                               ///< by number
  uint64_t last_queue_ = 0;
  std::atomic<bool> alarmed_{false};
  Error why_lost_;
  std::atomic<const Error*> lost_{nullptr};
};

/// Paces the polls of a wait: quick ones first, for work that is nearly done, then fewer. Ends the wait once none of the
/// backend's devices has done anything for `deadline`, because their queues may wait for each other.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  /// When the work is expected to be done: then it is asked again and again, without sleep. A default one: not known.
  struct Expected {
    Clock::time_point from, until;
    /// Of work that began at `begin` and takes as long as the last time: its last fifth, and half as much again as it takes.
    static Expected of(Clock::time_point begin, Clock::duration last) { return {begin + last * 4 / 5, begin + last * 3 / 2}; }
  };
  /// How long a wait since `begin` sleeps at `now`; 0: not at all.
  static Clock::duration sleep(Clock::time_point begin, Clock::time_point now, const Expected& expected);

  Patience(BackendState& state, Seconds deadline, const Expected& expected = {});
  /// Call while the awaited work isn't done. Errors: this wait or another has failed.
  Result<void> wait();

 private:
  BackendState& state_;
  Seconds deadline_;
  Expected expected_;
  Clock::time_point begin_, looked_, moved_;
  uint64_t progress_ = 0;
  int questions_ = 0;
};

/// Returns when `done()`, a Result<bool>, is true. Errors: its own, or that the deadline has passed.
template <typename Done>
Result<void> wait_until(BackendState& state, Seconds deadline, Done&& done, const Patience::Expected& expected = {}) {
  if (const Error* lost = state.lost()) return *lost;
  Patience patience(state, deadline, expected);
  for (;;) {
    auto answer = done();
    if (!answer) return state.explain(std::move(answer.error()));
    if (*answer) return {};
    SHEAF_TRY(patience.wait());
  }
}

}  // namespace sheaf::cuda
