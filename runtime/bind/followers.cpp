#include "runtime/bind/followers.h"

namespace sheaf {

Followers find_followers(const Graph& graph, const std::vector<int>& leaders, const std::vector<int>& instead) {
  Followers found{std::vector<std::vector<int>>(leaders.size()), std::vector<int>(leaders.size(), 0)};
  const auto follow = [&](int before, int after) {
    before = leaders[static_cast<size_t>(instead[static_cast<size_t>(before)])];
    if (before == after) return;
    found.of[static_cast<size_t>(before)].push_back(after);
    ++found.missing[static_cast<size_t>(after)];
  };
  for (size_t i = 0; i < leaders.size(); ++i) {
    if (static_cast<size_t>(instead[i]) != i) continue;
    const Instance& instance = graph.instances[i];
    for (int input : instance.inputs) {
      for (int writer : graph.tensors[static_cast<size_t>(input)].writers) follow(writer, leaders[i]);
    }
    for (int before : instance.after) follow(before, leaders[i]);
  }
  return found;
}

}  // namespace sheaf
