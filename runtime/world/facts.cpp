#include "runtime/world/facts.h"

#include "runtime/machine/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace sheaf {
namespace {

constexpr char kEnd = '\x1e';  // no name or value has it

std::string text_of(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text += name + kEnd + value + kEnd;
  return text;
}

Facts facts_of(const std::string& text) {
  Facts facts;
  std::istringstream in(text);
  for (std::string name, value; std::getline(in, name, kEnd) && std::getline(in, value, kEnd);) facts.emplace_back(name, value);
  return facts;
}

}  // namespace

Result<void> check_alike(const std::vector<Facts>& all) {
  for (size_t rank = 1; rank < all.size(); ++rank) {
    for (size_t i = 0; i < all[0].size(); ++i) {
      if (all[rank].size() <= i || all[rank][i].first != all[0][i].first)
        return Error("rank " + std::to_string(rank) + " is another program than rank 0: it knows nothing of " +
                     all[0][i].first);
      if (all[rank][i].second == all[0][i].second) continue;
      return Error("rank " + std::to_string(rank) + ": " + all[0][i].first + " is " + all[rank][i].second +
                   ", and on rank 0 it is " + all[0][i].second)
          .note("all processes of a run have the same plan, data and options, except --devices");
    }
  }
  return {};
}

Result<void> check_alike(World& world, const Facts& mine) {
  SHEAF_ASSIGN(const auto texts, world.exchange(text_of(mine)));
  std::vector<Facts> all;
  for (const std::string& text : texts) all.push_back(facts_of(text));
  return check_alike(all);
}

Result<int> cpus_of_all(World& world) {
  std::string machine;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> machine;
  std::ostringstream mine;
  mine << machine << ' ' << available_cpus();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) mine << ' ' << cpu;
  }
  SHEAF_ASSIGN(const auto texts, world.exchange(mine.str()));
  struct Machine {
    std::set<int> cpus;
    int quota = 0;  ///< a container's limit may be below the number of CPUs; its processes share it, if they are in one
  };
  std::map<std::string, Machine> machines;
  for (const std::string& text : texts) {
    std::istringstream in(text);
    std::string name;
    int available = 0;
    in >> name >> available;
    Machine& one = machines[name];
    size_t own = 0;
    for (int cpu = 0; in >> cpu; ++own) one.cpus.insert(cpu);
    if (static_cast<size_t>(available) < own) one.quota = std::max(one.quota, available);
  }
  int sum = 0;
  for (const auto& [name, one] : machines) {
    const int cpus = std::max(1, static_cast<int>(one.cpus.size()));
    sum += one.quota > 0 ? std::min(one.quota, cpus) : cpus;
  }
  return sum;
}

}  // namespace sheaf
