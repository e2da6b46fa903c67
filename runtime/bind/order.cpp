#include "runtime/bind/order.h"

#include <queue>

namespace sheaf {
namespace {

struct Followers {
  IdVector<InstanceId, std::vector<InstanceId>> of;  ///< by leader: the leaders that follow it, one entry for each reason
  IdVector<InstanceId, int> missing;                 ///< by leader: how many reasons it has to wait
};

bool leads(const Standing& standing, InstanceId i) { return standing.instead[i] == i && standing.leaders[i] == i; }

Followers find_followers(const BoundProgram& program, const Standing& standing) {
  const auto& leaders = standing.leaders;
  Followers found;
  found.of.resize(leaders.size());
  found.missing.assign(leaders.size(), 0);
  const auto follow = [&](InstanceId before, InstanceId after) {
    before = leaders[standing.instead[before]];
    if (before == after) return;
    found.of[before].push_back(after);
    ++found.missing[after];
  };
  for (InstanceId i : leaders.ids()) {
    if (standing.instead[i] != i) continue;
    const Instance& instance = program.instances[i];
    for (TensorId input : instance.inputs) {
      for (InstanceId writer : program.tensors[input].writers) follow(writer, leaders[i]);
    }
    for (InstanceId before : instance.after) follow(before, leaders[i]);
  }
  return found;
}

}  // namespace

Standing stand_alone(const BoundProgram& program) {
  Standing standing;
  for (InstanceId i : program.instances.ids()) standing.leaders.push_back(i);
  standing.instead = standing.leaders;
  return standing;
}

Result<std::vector<InstanceId>> find_order(const BoundProgram& program, const Standing& standing,
                                           const IdVector<InstanceId, int64_t>& times) {
  using Next = std::pair<int64_t, InstanceId>;
  Followers followers = find_followers(program, standing);
  std::vector<InstanceId> order;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  size_t leaders = 0;
  for (InstanceId i : standing.leaders.ids()) {
    if (!leads(standing, i)) continue;
    ++leaders;
    if (followers.missing[i] == 0) next.emplace(times[i], i);
  }
  while (!next.empty()) {
    order.push_back(next.top().second);
    next.pop();
    for (InstanceId after : followers.of[order.back()]) {
      if (--followers.missing[after] == 0) next.emplace(times[after], after);
    }
  }
  if (order.size() == leaders) return order;
  return Error(std::to_string(leaders - order.size()) +
               " operations wait for each other in a circle: a bug of sheaf's binding");
}

}  // namespace sheaf
