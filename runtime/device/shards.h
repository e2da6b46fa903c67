// Logical shards: parts that a region cuts its rows into whatever the devices are, so that results don't depend on them
// (docs/strategies.md).
#pragma once

#include "runtime/plan/plan.h"

#include <vector>

namespace sheaf {

inline constexpr int kMostShards = 4096;

/// The device of each of `region`'s replicas on the devices `group`, entries of a list: with `shards`, each takes a contiguous run of
/// them, no run more than one longer than another; with 0 shards there is a replica for each device. Errors, located at the region:
/// more devices than shards.
Result<std::vector<int>> devices_of_shards(const Region& region, const std::vector<int>& group, int shards);

}  // namespace sheaf
