#include "runtime/cuda/backend_state.h"

#include "runtime/cuda/pinned_ring.h"
#include "runtime/cuda/rank_link.h"

#include <algorithm>
#include <cstdio>
#include <thread>

namespace sheaf::cuda {

std::shared_ptr<BackendState> BackendState::of(const std::shared_ptr<Backend>& backend) {
  static std::mutex mutex;
  static std::map<const Backend*, std::weak_ptr<BackendState>> states;
  const std::lock_guard lock(mutex);
  std::erase_if(states, [](const auto& state) { return state.second.expired(); });
  auto& known = states[backend.get()];
  if (auto state = known.lock()) return state;
  auto state = std::make_shared<BackendState>(backend);
  known = state;
  return state;
}

void BackendState::meet(int device) {
  std::set<int> others;
  {
    const std::lock_guard lock(mutex_);
    if (!met_.insert(device).second) return;
    others = met_;
  }
  for (const int other : others) {
    // What fails here fails again, with its reason, where something is copied.
    (void)reaches(device, other);
    (void)reaches(other, device);
  }
}

Result<bool> BackendState::reaches(int device, int peer) {
  if (device == peer) return true;
  const std::lock_guard lock(mutex_);
  const auto known = reaches_.find({device, peer});
  if (known != reaches_.end()) return known->second;
  SHEAF_ASSIGN(auto enabled, driver().enable_peer(device, peer));
  reaches_[{device, peer}] = enabled;
  return enabled;
}

Result<std::shared_ptr<Communicator>> BackendState::communicator(std::span<const int> devices, std::string& why) {
  const std::vector<int> key(devices.begin(), devices.end());
  const std::lock_guard lock(communicators_mutex_);
  if (const auto known = communicators_.find(key); known != communicators_.end()) {
    why = known->second.why;
    return known->second.communicator;
  }
  Opened opened;
  SHEAF_ASSIGN(opened.communicator, backend_->open_communicator(devices, opened.why));
  why = opened.why;
  return (communicators_[key] = std::move(opened)).communicator;
}

void BackendState::abort_communicators(const Error& why) {
  std::map<std::vector<int>, Opened> all;
  {
    const std::lock_guard lock(communicators_mutex_);
    all.swap(communicators_);
  }
  for (auto& [devices, opened] : all) {
    if (opened.communicator) opened.communicator->abort();
  }
  const std::lock_guard lock(links_mutex_);
  for (CudaRankLink* link : links_) link->abort(why);
}

void BackendState::keep(CudaRankLink* link) {
  const std::lock_guard lock(links_mutex_);
  links_.push_back(link);
}

void BackendState::forget(CudaRankLink* link) {
  const std::lock_guard lock(links_mutex_);
  std::erase(links_, link);
}

void BackendState::raise_alarms() {
  alarmed_.store(true, std::memory_order_release);
  std::vector<Alarm> alarms;
  {
    const std::lock_guard lock(mutex_);
    for (const Watched& queue : queues_) alarms.push_back(queue.alarm);
  }
  // Their streams have nothing else to do, so this takes microseconds; a device that is lost won't do anything anyway.
  for (const Alarm& alarm : alarms) (void)driver().raise(alarm.stream, alarm.flag);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (const Alarm& alarm : alarms) {
    for (auto done = driver().done(alarm.stream); done && !*done && std::chrono::steady_clock::now() < until;
         done = driver().done(alarm.stream)) {
      std::this_thread::yield();
    }
  }
}

std::shared_ptr<const Error> BackendState::stop(Progress* queue, std::shared_ptr<const Error> why) {
  const std::lock_guard lock(failures_mutex_);
  failures_.emplace_back(queue, std::move(why));
  raise_alarms();
  abort_communicators(*failures_.back().second);
  return failures_.front().second;
}

void BackendState::watch(Progress* queue, std::shared_ptr<PinnedRing> results, const Alarm& alarm) {
  const std::lock_guard lock(mutex_);
  queues_.push_back({++last_queue_, queue, std::move(results), alarm});
}

void BackendState::forget(Progress* queue) {
  const std::lock_guard failures_lock(failures_mutex_);
  std::erase_if(failures_, [&](const auto& failure) { return failure.first == queue; });
  const std::lock_guard lock(mutex_);
  std::erase_if(queues_, [&](const Watched& watched) { return watched.progress == queue; });
}

Result<void> BackendState::settle(const Rows& memory, const PinnedRing* except) {
  for (uint64_t number = 0;;) {
    std::shared_ptr<PinnedRing> results;
    {
      const std::lock_guard lock(mutex_);
      const auto next =
          std::find_if(queues_.begin(), queues_.end(), [&](const Watched& queue) { return queue.number > number; });
      if (next == queues_.end()) return {};
      number = next->number;
      results = next->results;
    }
    if (results.get() == except) continue;
    SHEAF_TRY(results->settle(memory));
  }
}

uint64_t BackendState::progress() {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const Watched& queue : queues_) sum += queue.progress->done();
  return sum;
}

std::vector<std::string> BackendState::report() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const Watched& queue : queues_) lines.push_back(queue.progress->report());
  std::sort(lines.begin(), lines.end());
  return lines;
}

Error BackendState::explain(Error why) {
  for (std::string& line : report()) why.note(std::move(line));
  return why;
}

const Error& BackendState::lose(Error why) {
  {
    const std::lock_guard lock(mutex_);
    if (lost_.load(std::memory_order_relaxed)) return why_lost_;
    why_lost_ = std::move(why);
    lost_.store(&why_lost_, std::memory_order_release);
  }
  raise_alarms();
  abort_communicators(why_lost_);
  return why_lost_;
}

Patience::Clock::duration Patience::sleep(Clock::time_point begin, Clock::time_point now, const Expected& expected) {
  constexpr auto kShort = std::chrono::milliseconds(2);
  constexpr Clock::duration kNap = std::chrono::microseconds(50);
  // Most waits are the rest of a step: a core is spared only after what steps of small models take, and not towards the end.
  if (now - begin < kShort || (expected.from <= now && now < expected.until)) return {};
  return now < expected.from ? std::min(kNap, expected.from - now) : kNap;
}

Patience::Patience(BackendState& state, Seconds deadline, const Expected& expected)
    : state_(state), deadline_(deadline), expected_(expected), begin_(Clock::now()), looked_(begin_), moved_(begin_) {}

Result<void> Patience::wait() {
  constexpr int kQuickQuestions = 64;
  if (++questions_ < kQuickQuestions) return {};
  const Clock::time_point now = Clock::now();
  if (now - looked_ >= std::min<Seconds>(deadline_ / 8, std::chrono::milliseconds(100))) {
    if (const Error* lost = state_.lost()) return *lost;
    looked_ = now;
    if (const uint64_t progress = state_.progress(); progress != progress_) {
      progress_ = progress;
      moved_ = now;
    }
    if (now - moved_ >= deadline_) {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%g", deadline_.count());
      Error error(std::string("a GPU's work was not done after ") + seconds + " seconds without any progress");
      error = state_.explain(std::move(error));
      return state_.lose(std::move(error.note("--deadline SECONDS allows more time")));
    }
  }
  if (const auto nap = sleep(begin_, now, expected_); nap > Clock::duration()) std::this_thread::sleep_for(nap);
  else std::this_thread::yield();
  return {};
}

}  // namespace sheaf::cuda
