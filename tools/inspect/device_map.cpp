#include "tools/inspect/device_map.h"

#include "runtime/base/joined.h"
#include "runtime/device/shards.h"

#include <numeric>

namespace sheaf {

namespace {

const std::string kHost = "host";

/// "the device list has 2 entries (cpu:0,cpu:1)", for messages about an index beyond its end.
std::string entries_text(const std::vector<std::string>& names) {
  const std::string count = std::to_string(names.size()) + (names.size() == 1 ? " entry" : " entries");
  return "the device list has " + count + " (" + joined(names, ",") + ")";
}

}  // namespace

const std::string& DeviceMap::name_of(const Place& place, int64_t replica) const {
  if (host_only || place.kind == Place::host) return kHost;
  if (place.kind == Place::device) return names[static_cast<size_t>(place.index)];
  const std::vector<int>& group = groups[static_cast<size_t>(place.index)];
  return names[static_cast<size_t>(group[static_cast<size_t>(replica)])];
}

std::vector<int64_t> DeviceMap::group_sizes() const {
  std::vector<int64_t> sizes;
  for (const std::vector<int>& group : groups) sizes.push_back(static_cast<int64_t>(group.size()));
  return sizes;
}

Result<DeviceMap> map_devices(const Plan& plan, const Program& program, const std::vector<std::string>& names, int shards) {
  if (names.empty()) return Error("the device list is empty; expected names such as cpu:0,cpu:1");
  DeviceMap map;
  map.names = names;
  map.shards = shards;
  map.host_only = names.size() == 1 && names[0] == "cpu";
  if (map.host_only) {
    for (const Region& region : plan.regions) {
      SHEAF_ASSIGN(auto by_replica, devices_of_shards(region, {0}, shards));
      map.groups.push_back(std::move(by_replica));
    }
    return map;
  }
  const int count = static_cast<int>(names.size());
  for (const Region& region : plan.regions) {
    std::vector<int> group(static_cast<size_t>(count));
    std::iota(group.begin(), group.end(), 0);
    if (region.device_ids) group = *region.device_ids;
    for (int index : group)
      if (index < 0 || index >= count)
        return Error(region.location, "'" + region.name + "' runs on device " + std::to_string(index) + ", but " +
                                          entries_text(names) + "; give a longer list or change device_ids");
    if (region.output_device && (*region.output_device < 0 || *region.output_device >= count))
      return Error(region.location, "'" + region.name + "' gathers on device " + std::to_string(*region.output_device) +
                                        ", but " + entries_text(names) + "; give a longer list or change output_device");
    SHEAF_ASSIGN(auto by_replica, devices_of_shards(region, group, shards));
    map.groups.push_back(std::move(by_replica));
  }
  const auto beyond = [&](const Place& place) {
    return place.kind == Place::device && (place.index < 0 || place.index >= count);
  };
  for (const Step& step : program.steps)
    if (beyond(step.place))
      return Error(step.location, "layer '" + step.layer + "' is on device " + std::to_string(step.place.index) + ", but " +
                                      entries_text(names) + "; give a longer list or change the layer's device");
  for (const Value& value : program.values)
    if (beyond(value.place))
      return Error("value '" + value.name + "' is on device " + std::to_string(value.place.index) + ", but " +
                   entries_text(names));
  return map;
}

}  // namespace sheaf
