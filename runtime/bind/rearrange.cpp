#include "runtime/bind/order.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

}  // namespace

Result<void> rearrange(Graph& graph, const std::vector<InstanceGroup>& groups, const std::vector<int>& instead) {
  Standing standing = stand_alone(graph);
  standing.instead = instead;
  std::vector<int64_t> times;
  for (size_t i = 0; i < instead.size(); ++i) times.push_back(2 * static_cast<int64_t>(i));
  std::map<int, const std::vector<int>*> members;  // by leader
  for (const InstanceGroup& group : groups) {
    const int leader = group.members[0];
    for (int member : group.members) standing.leaders[index_of(member)] = leader;
    times[index_of(leader)] = group.time;
    members[leader] = &group.members;
  }
  SHEAF_ASSIGN(auto order, find_order(graph, standing, times));
  std::vector<int> now(graph.instances.size(), -1);
  std::vector<Instance> instances;
  const auto take = [&](int old) -> Instance& {
    now[index_of(old)] = static_cast<int>(instances.size());
    return instances.emplace_back(std::move(graph.instances[index_of(old)]));
  };
  int collectives = 0;
  for (int leader : order) {
    const auto group = members.find(leader);
    if (group == members.end() || group->second->size() == 1) {
      take(leader);
      continue;
    }
    for (int member : *group->second) take(member).collective = collectives;
    ++collectives;
  }
  const auto renumber = [&](std::vector<int>& numbers) {
    for (int& number : numbers) number = now[index_of(instead[index_of(number)])];
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  };
  graph.instances = std::move(instances);
  for (Instance& instance : graph.instances) renumber(instance.after);
  for (Tensor& tensor : graph.tensors) renumber(tensor.writers);
  if (graph.guard >= 0) graph.guard = now[index_of(instead[index_of(graph.guard)])];
  return {};
}

}  // namespace sheaf
