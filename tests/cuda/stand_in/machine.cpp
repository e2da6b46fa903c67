#include "tests/cuda/stand_in/machine.h"

#include <array>
#include <utility>

namespace stand_in {
namespace {

struct State {
  std::recursive_mutex mutex;
  std::vector<std::string> faults;
  std::map<std::string, size_t> live;
  std::array<std::chrono::microseconds, kDevices> clocks = {};
};

/// Never destroyed: threads of the process may end after its statics.
State& state() {
  static auto& made = *new State;
  return made;
}

}  // namespace

std::recursive_mutex& machine() { return state().mutex; }

void fault(std::string what) {
  const Lock lock(machine());
  state().faults.push_back(std::move(what));
}

std::vector<std::string> take_faults() {
  const Lock lock(machine());
  return std::exchange(state().faults, {});
}

std::chrono::microseconds& clock_of(int device) { return state().clocks.at(static_cast<size_t>(device)); }

std::map<std::string, size_t> live() {
  const Lock lock(machine());
  return state().live;
}

void count(const char* kind, int change) {
  auto& live = state().live;
  live[kind] += static_cast<size_t>(change);
  if (live[kind] == 0) live.erase(kind);
}

}  // namespace stand_in
