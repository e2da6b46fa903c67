#include "runtime/machine/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <string>

// libgomp's C interface: GOMP_parallel is what GCC itself compiles `#pragma omp parallel` into. It is called
// directly because clang's -fopenmp would link LLVM's OpenMP runtime beside the one that oneDNN uses.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
int omp_in_parallel(void);
void omp_set_num_threads(int threads);
}

// libgomp isn't built with ThreadSanitizer, which therefore does not see that a team's start and end order memory
// accesses: it is told.
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__
#endif
#endif
#ifdef __SANITIZE_THREAD__
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#else
static void __tsan_acquire(void*) {}
static void __tsan_release(void*) {}
#endif

namespace sheaf {
namespace {

/// CPUs that the cgroup (v2) quota is worth, rounded up; a large number where there is none.
int cgroup_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 1 << 20;
  char* end = nullptr;
  const double value = std::strtod(quota.c_str(), &end);
  if (end == quota.c_str() || value <= 0) return 1 << 20;
  return std::max(1, static_cast<int>(std::ceil(value / period)));
}

int count_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int count = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
  return std::max(1, std::min(count, cgroup_quota()));
}

struct Shared {
  void (*body)(void*, int64_t, int64_t);
  void* context;
  int64_t work;
  // Order that libgomp gives anyway, said in C++'s own terms: what was done before the team starts is seen by its
  // members, and theirs after it. ThreadSanitizer knows nothing of libgomp's barriers.
  std::atomic<int> order{0};
};

void team_member(void* data) {
  __tsan_acquire(data);
  Shared& shared = *static_cast<Shared*>(data);
  shared.order.load(std::memory_order_acquire);
  const int64_t count = omp_get_num_threads();
  const int64_t index = omp_get_thread_num();
  const int64_t share = shared.work / count, rest = shared.work % count;
  const int64_t begin = index * share + std::min(index, rest);
  const int64_t end = begin + share + (index < rest ? 1 : 0);
  if (begin < end) shared.body(shared.context, begin, end);
  __tsan_release(data);
}

}  // namespace

int available_cpus() {
  static const int count = count_cpus();
  return count;
}

int team_size() { return omp_get_max_threads(); }
void set_team_size(int threads) { omp_set_num_threads(std::max(1, threads)); }

void parallel_ranges(int64_t work, int64_t grain, int threads, void (*body)(void*, int64_t, int64_t),
                     void* context) {
  if (work <= 0) return;
  const int64_t useful = work / std::max<int64_t>(1, grain);
  const int64_t team = std::min<int64_t>(threads, useful);
  if (team <= 1 || omp_in_parallel()) {
    body(context, 0, work);
    return;
  }
  Shared shared{body, context, work};
  __tsan_release(&shared);
  GOMP_parallel(team_member, &shared, static_cast<unsigned>(team), 0);
  __tsan_acquire(&shared);
}

}  // namespace sheaf
