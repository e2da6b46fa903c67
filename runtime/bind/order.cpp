#include "runtime/bind/order.h"

#include <numeric>
#include <queue>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

struct Followers {
  std::vector<std::vector<int>> of;  ///< by leader: leaders that come after it, one entry for each reason
  std::vector<int> missing;          ///< by leader: how many reasons it has to wait
};

bool leads(const Standing& standing, size_t i) {
  return index_of(standing.instead[i]) == i && index_of(standing.leaders[i]) == i;
}

Followers find_followers(const Graph& graph, const Standing& standing) {
  const std::vector<int>& leaders = standing.leaders;
  Followers found{std::vector<std::vector<int>>(leaders.size()), std::vector<int>(leaders.size(), 0)};
  const auto follow = [&](int before, int after) {
    before = leaders[index_of(standing.instead[index_of(before)])];
    if (before == after) return;
    found.of[index_of(before)].push_back(after);
    ++found.missing[index_of(after)];
  };
  for (size_t i = 0; i < leaders.size(); ++i) {
    if (index_of(standing.instead[i]) != i) continue;
    const Instance& instance = graph.instances[i];
    for (int input : instance.inputs) {
      for (int writer : graph.tensors[index_of(input)].writers) follow(writer, leaders[i]);
    }
    for (int before : instance.after) follow(before, leaders[i]);
  }
  return found;
}

}  // namespace

Standing stand_alone(const Graph& graph) {
  Standing standing;
  standing.leaders.resize(graph.instances.size());
  std::iota(standing.leaders.begin(), standing.leaders.end(), 0);
  standing.instead = standing.leaders;
  return standing;
}

Result<std::vector<int>> find_order(const Graph& graph, const Standing& standing, const std::vector<int64_t>& times) {
  using Next = std::pair<int64_t, int>;
  Followers followers = find_followers(graph, standing);
  std::vector<int> order;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  size_t leaders = 0;
  for (size_t i = 0; i < standing.leaders.size(); ++i) {
    if (!leads(standing, i)) continue;
    ++leaders;
    if (followers.missing[i] == 0) next.emplace(times[i], static_cast<int>(i));
  }
  while (!next.empty()) {
    order.push_back(next.top().second);
    next.pop();
    for (int after : followers.of[index_of(order.back())]) {
      if (--followers.missing[index_of(after)] == 0) next.emplace(times[index_of(after)], after);
    }
  }
  if (order.size() == leaders) return order;
  return Error(std::to_string(leaders - order.size()) +
               " operations wait for each other in a circle: a bug of sheaf's binding");
}

}  // namespace sheaf
