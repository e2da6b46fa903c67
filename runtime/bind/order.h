// In which order instances can be done, where some are done as one.
#pragma once

#include "runtime/bind/graph.h"

#include <vector>

namespace sheaf {

/// The first `leaders.size()` instances of a graph, taken for fewer.
struct Standing {
  std::vector<int> leaders;  ///< who stands for those that are done as one
  std::vector<int> instead;  ///< which instance stands for one that is left out; itself where it stays
};

/// Each instance stands for itself.
Standing stand_alone(const Graph& graph);

/// The leaders, each once all that it needs is done, the earliest by `times` first (Kahn's algorithm). Errors: some wait for
/// each other in a circle.
Result<std::vector<int>> find_order(const Graph& graph, const Standing& standing, const std::vector<int64_t>& times);

}  // namespace sheaf
