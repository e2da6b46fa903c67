#include "runtime/bind/followers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// Instances by their times, each once what it needs is done (Kahn's algorithm, the earliest first).
class Ordering {
 public:
  Ordering(const Graph& graph, const std::vector<InstanceGroup>& groups, const std::vector<int>& instead)
      : graph_(graph), instead_(instead), leaders_(graph.instances.size()), times_(graph.instances.size()) {
    std::iota(leaders_.begin(), leaders_.end(), 0);
    for (size_t i = 0; i < times_.size(); ++i) times_[i] = 2 * static_cast<int64_t>(i);
    for (const InstanceGroup& group : groups) {
      for (int member : group.members) leaders_[index_of(member)] = group.members[0];
      times_[index_of(group.members[0])] = group.time;
      groups_[group.members[0]] = &group.members;
    }
  }

  /// `groups`: those of several instances, in the order that they got.
  std::vector<int> find(std::vector<const std::vector<int>*>& groups) {
    Followers followers = find_followers(graph_, leaders_, instead_);
    std::vector<int> order;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    for (size_t i = 0; i < leaders_.size(); ++i) {
      if (stays(i) && index_of(leaders_[i]) == i && followers.missing[i] == 0) next.emplace(times_[i], static_cast<int>(i));
    }
    while (!next.empty()) {
      const int i = next.top().second;
      next.pop();
      if (const auto group = groups_.find(i); group != groups_.end()) {
        order.insert(order.end(), group->second->begin(), group->second->end());
        groups.push_back(group->second);
      } else {
        order.push_back(i);
      }
      for (int after : followers.of[index_of(i)]) {
        if (--followers.missing[index_of(after)] == 0) next.emplace(times_[index_of(after)], after);
      }
    }
    return order;
  }

 private:
  using Next = std::pair<int64_t, int>;

  bool stays(size_t i) const { return index_of(instead_[i]) == i; }

  const Graph& graph_;
  const std::vector<int>& instead_;
  std::vector<int> leaders_;    ///< the first member of an instance's group
  std::vector<int64_t> times_;
  std::map<int, const std::vector<int>*> groups_;  ///< by leader
};

}  // namespace

void rearrange(Graph& graph, const std::vector<InstanceGroup>& groups, const std::vector<int>& instead) {
  std::vector<const std::vector<int>*> ordered;
  const std::vector<int> order = Ordering(graph, groups, instead).find(ordered);
  for (size_t g = 0; g < ordered.size(); ++g) {
    if (ordered[g]->size() == 1) continue;
    for (int member : *ordered[g]) graph.instances[index_of(member)].collective = static_cast<int>(g);
  }
  std::vector<int> now(graph.instances.size(), -1);
  std::vector<Instance> instances;
  for (int old : order) {
    now[index_of(old)] = static_cast<int>(instances.size());
    instances.push_back(std::move(graph.instances[index_of(old)]));
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
}

}  // namespace sheaf
