#include "runtime/machine/thread_pool.h"

#include "runtime/machine/openmp.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
void omp_set_dynamic(int dynamic);
}

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

struct Ranges {
  void (*body)(void*, int64_t, int64_t);
  void* context;
  int64_t work;
};

void make_range(void* data) {
  const Ranges& ranges = *static_cast<const Ranges*>(data);
  const auto [index, count] = openmp_share();
  const int64_t share = ranges.work / count, rest = ranges.work % count;
  const int64_t begin = index * share + std::min<int64_t>(index, rest);
  const int64_t end = begin + share + (index < rest ? 1 : 0);
  if (begin < end) ranges.body(ranges.context, begin, end);
}

}  // namespace

int available_cpus() {
  static const int count = count_cpus();
  return count;
}

int team_size() { return omp_get_max_threads(); }
void set_team_size(int threads) {
  thread_local bool fixed = false;
  if (!fixed) omp_set_dynamic(0);  // OMP_DYNAMIC: a team smaller than asked for would sum in another order
  fixed = true;
  omp_set_num_threads(std::max(1, threads));
}

void parallel_ranges(int64_t work, int64_t grain, int threads, void (*body)(void*, int64_t, int64_t), void* context) {
  if (work <= 0) return;
  const int64_t useful = work / std::max<int64_t>(1, grain);
  const int64_t team = std::min<int64_t>(threads, useful);
  if (team <= 1 || in_openmp()) {
    body(context, 0, work);
    return;
  }
  Ranges ranges{body, context, work};
  openmp_run(static_cast<int>(team), make_range, &ranges);
}

}  // namespace sheaf
