#include "runtime/machine/team.h"

#include "runtime/machine/invalid_flag.h"
#include "runtime/machine/blocked_signals.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/machine/tick_clock.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace sheaf {
namespace {

// How long a wait spins before it sleeps, of ticks that are about a third of a nanosecond: for shares that others are in, some
// 50 µs, as a member that takes longer may have lost its core; for the next work, half a millisecond, more than mostly lies
// between the operations of a step.
constexpr int64_t kSpinForShares = 150'000, kSpinForWork = 1'500'000;

thread_local Team::Share current;

std::atomic<unsigned>& forks() {
  static std::atomic<unsigned> count{0};
  static const int noted = pthread_atfork(nullptr, nullptr, [] { forks().fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(noted);
  return count;
}

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Waits until `done` says so of the value; spins for so many ticks, then sleeps.
template <typename Done>
int32_t wait_until(const std::atomic<int32_t>& value, int64_t spin, Done done) {
  int32_t seen = value.load(std::memory_order_acquire);
  if (done(seen)) return seen;
  for (const int64_t end = ticks() + spin; ticks() < end;) {
    for (int i = 0; i < 16; ++i) {
      pause_cpu();
      if (done(seen = value.load(std::memory_order_acquire))) return seen;
    }
  }
  while (!done(seen)) {
    value.wait(seen, std::memory_order_acquire);
    seen = value.load(std::memory_order_acquire);
  }
  return seen;
}

[[noreturn]] void no_threads() {
  std::fputs("sheaf: error: the system gives no more threads\n", stderr);
  std::exit(1);
}

}  // namespace

Team& Team::own() {
  // A child of fork() has none of the threads: what it finds of them is left as it is.
  struct Owner {
    std::unique_ptr<Team> team;
    void check() {
      if (team && team->forks_ != forks().load(std::memory_order_relaxed)) static_cast<void>(team.release());
    }
    ~Owner() { check(); }
  };
  thread_local Owner owner;
  owner.check();
  if (!owner.team) owner.team.reset(new Team);
  return *owner.team;
}

const Team::Share& Team::share() { return current; }

Team::Team() : forks_(forks().load(std::memory_order_relaxed)) {}
Team::~Team() { stop(); }

void Team::stop() {
  stop_.store(true, std::memory_order_relaxed);
  started_.fetch_add(1, std::memory_order_release);
  started_.notify_all();
  for (std::thread& member : members_) member.join();
  members_.clear();
  stop_.store(false, std::memory_order_relaxed);
}

/// More members need a longer `claimed_`, which those that are there may be reading: all begin anew.
void Team::grow(int members) {
  stop();
  spins_ = members < available_cpus();
  const int32_t work = started_.load(std::memory_order_relaxed);
  claimed_ = std::make_unique<std::atomic<int32_t>[]>(static_cast<size_t>(members) + 1);
  for (int i = 0; i <= members; ++i) claimed_[static_cast<size_t>(i)].store(work, std::memory_order_relaxed);
  members_.reserve(static_cast<size_t>(members));
  const BlockedSignals signals;
  try {
    for (int i = 1; i <= members; ++i) members_.emplace_back([=, this] { member(i, members, work); });
  } catch (const std::system_error&) {
    no_threads();
  }
}

void Team::run(int shares, void (*body)(void*), void* data) {
  if (static_cast<int>(members_.size()) < shares - 1) grow(shares - 1);
  body_ = body;
  data_ = data;
  shares_ = shares;
  finished_.store(0, std::memory_order_relaxed);
  const auto work = static_cast<int32_t>(static_cast<uint32_t>(started_.load(std::memory_order_relaxed)) + 1);
  claimed_[0].store(work, std::memory_order_relaxed);
  for (size_t i = static_cast<size_t>(shares); i <= members_.size(); ++i) claimed_[i].store(work, std::memory_order_relaxed);
  started_.store(work);  // in one order with what a member that goes to sleep says, which notify_all() reads
  started_.notify_all();
  take(0);
  for (int i = 1; i < shares; ++i) {
    if (claim(i, work)) take(i);
  }
  wait_until(finished_, spins_ ? kSpinForShares : 0, [&](int32_t finished) { return finished == shares; });
}

/// A share is taken once in each work. A member may come late, to a work whose shares are all taken, and find the next one
/// under way: its knowledge is then older than this.
bool Team::claim(int share, int32_t work) {
  std::atomic<int32_t>& taken = claimed_[static_cast<size_t>(share)];
  int32_t last = taken.load(std::memory_order_relaxed);
  if (static_cast<int32_t>(static_cast<uint32_t>(work) - static_cast<uint32_t>(last)) <= 0) return false;
  return taken.compare_exchange_strong(last, work, std::memory_order_acq_rel);
}

void Team::take(int share) {
  const int shares = shares_;  // another work may be under way as soon as this share is counted
  const Share before = current;
  current = {this, share, shares};
  body_(data_);
  current = before;
  if (take_invalid_flag()) saw_invalid_.store(true, std::memory_order_relaxed);
  if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == shares) finished_.notify_one();
}

void Team::member(int index, int members, int32_t seen) {
  for (;;) {
    seen = wait_until(started_, spins_ ? kSpinForWork : 0, [&](int32_t started) { return started != seen; });
    if (stop_.load(std::memory_order_relaxed)) return;
    for (int i = 0; i < members; ++i) {
      const int share = 1 + (index - 1 + i) % members;
      if (claim(share, seen)) take(share);
    }
  }
}

void Team::run_nested(void (*body)(void*), void* data) {
  const Share before = current;
  current = {before.team, 0, 1};
  body(data);
  current = before;
}

void Team::wait_for_all() {
  if (current.count == 1) return;
  const int32_t phase = phase_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < shares_) {
    wait_until(phase_, spins_ ? kSpinForShares : 0, [&](int32_t now) { return now != phase; });
    return;
  }
  arrived_.store(0, std::memory_order_relaxed);
  phase_.store(static_cast<int32_t>(static_cast<uint32_t>(phase) + 1));
  phase_.notify_all();
}

}  // namespace sheaf
