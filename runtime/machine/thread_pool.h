// The one pool of CPU threads, which oneDNN uses too (runtime/machine/openmp.h). Each thread that starts parallel work (a
// lane, or the caller of a run) has its own team there, of the size set with set_team_size().
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

namespace sheaf {

/// CPUs that this process may use: the affinity mask, further limited by a cgroup's CPU quota. At least 1.
int available_cpus();

/// How many threads parallel work started from the calling thread uses (oneDNN reads this as well).
int team_size();
void set_team_size(int threads);

/// Sets the calling thread's team size for a scope.
class TeamSize {
 public:
  explicit TeamSize(int threads) : before_(team_size()) {
    if (threads != before_) set_team_size(threads);
    changed_ = threads != before_;
  }
  ~TeamSize() {
    if (changed_) set_team_size(before_);
  }
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  int before_;
  bool changed_ = false;
};

/// Calls body(context, begin, end) on disjoint ranges that make up [0, work), on at most `threads` threads
/// and with at least `grain` (>= 1) indices a thread; inline if one thread is enough. Never allocates
/// once the team exists.
void parallel_ranges(int64_t work, int64_t grain, int threads, void (*body)(void* context, int64_t begin, int64_t end),
                     void* context);

template <typename Body>
void parallel_for(int64_t work, int64_t grain, int threads, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  parallel_ranges(
      work, grain, threads, [](void* context, int64_t begin, int64_t end) { (*static_cast<Plain*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// Calls body(member, item) once for each item of [0, count), on at most `threads` members; whoever is done with one takes the next. Use it
/// for items of milliseconds: a thread that a shared machine slows down then makes fewer of them, where in equal shares all would wait
/// for it. `member`, below `threads`, tells whose memory to use; which items it makes depends on chance, so results must not depend on it.
template <typename Body>
void parallel_items(int64_t count, int threads, Body&& body) {
  std::atomic<int64_t> next = 0;
  parallel_for(std::min<int64_t>(count, threads), 1, threads, [&](int64_t begin, int64_t) {
    for (int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(begin, item);
  });
}

/// Into how many items to cut work for parallel_items(): `each` for a thread, so that they can be dealt out evenly; one if there is no other.
constexpr int64_t items_for(int threads, int64_t each = 8) { return threads > 1 ? each * threads : 1; }

}  // namespace sheaf
