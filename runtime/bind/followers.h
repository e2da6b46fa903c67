// Which instances have to come after which, where some are done as one.
#pragma once

#include "runtime/bind/graph.h"

#include <vector>

namespace sheaf {

struct Followers {
  std::vector<std::vector<int>> of;  ///< by leader: leaders that come after it, one entry for each reason
  std::vector<int> missing;          ///< by leader: how many reasons it has to wait
};

/// Of the first `leaders.size()` instances. `leaders`: who stands for those that are done as one; `instead`: which
/// instance stands for one that is left out; itself where it stays.
Followers find_followers(const Graph& graph, const std::vector<int>& leaders, const std::vector<int>& instead);

}  // namespace sheaf
