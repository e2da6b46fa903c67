#include "runtime/device/shards.h"

namespace sheaf {

Result<std::vector<int>> devices_of_shards(const Region& region, const std::vector<int>& group, int shards) {
  if (shards == 0) return group;
  const auto devices = static_cast<int64_t>(group.size());
  if (devices > shards)
    return Error(region.location, "layer '" + region.name + "' runs on " + std::to_string(devices) +
                                      " devices, but the batch is cut into " + std::to_string(shards) +
                                      (shards == 1 ? " shard" : " shards"))
        .note("give at least as many --shards as devices, or a shorter device list");
  std::vector<int> entries;
  for (int shard = 0; shard < shards; ++shard) entries.push_back(group[static_cast<size_t>(shard * devices / shards)]);
  return entries;
}

}  // namespace sheaf
