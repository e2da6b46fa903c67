// A device list applied to a plan: the named device behind each place.
#pragma once

#include "runtime/plan/plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sheaf {

struct DeviceMap {
  std::vector<std::string> names;        ///< the list
  bool host_only = false;                ///< the list is "cpu" alone: everything runs on the host
  int shards = 0;                        ///< parts that each region cuts its rows into; 0: one for each device
  std::vector<std::vector<int>> groups;  ///< by region and replica: entries of the list; in host-only mode 0

  /// Nothing is cut and nothing moves.
  bool unpartitioned() const { return host_only && shards == 0; }

  /// The name of the device at `place`; `replica` counts within a region's group.
  const std::string& name_of(const Place& place, int64_t replica = 0) const;
  std::vector<int64_t> group_sizes() const;
};

/// Errors: an empty list; a device_ids or output_device entry beyond the list's end, located at the region's layer; a step or
/// value on such a device, naming its layer; fewer shards than devices.
Result<DeviceMap> map_devices(const Plan& plan, const Program& program, const std::vector<std::string>& names, int shards = 0);

}  // namespace sheaf
