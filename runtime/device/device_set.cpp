#include "runtime/device/device_set.h"

#include "runtime/device/shards.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace sheaf {

DeviceSet::DeviceSet(std::shared_ptr<Device> host, std::vector<std::shared_ptr<Device>> entries, std::vector<std::string> names,
                     int threads, int shards, std::vector<std::shared_ptr<Device>> hosts)
    : host_(std::move(host)),
      entries_(std::move(entries)),
      entry_names_(std::move(names)),
      messengers_(std::move(hosts)),
      shards_(shards) {
  const auto on_host = [](const auto& device) { return device->info().uses_host_cores; };
  const auto sharers = shards > 0 ? 1 : static_cast<int>(std::count_if(entries_.begin(), entries_.end(), on_host));
  host_threads_ = std::max(1, shards > 0 ? threads / shards : threads);
  lane_threads_ = std::max(1, host_threads_ / std::max(1, sharers));
  merged_ = entries_.empty() || (entries_.size() == 1 && entries_[0] == host_);
  if (entries_.empty()) entry_names_ = {"host"};
  if (merged_) {
    names_ = {entry_names_[0]};
  } else {
    names_ = {"host"};
    names_.insert(names_.end(), entry_names_.begin(), entry_names_.end());
  }
  world() ? add_links_of_ranks() : add_links_of_devices();
}

void DeviceSet::add_links_of_ranks() {
  const auto ranks = static_cast<int>(messengers_.size());
  for (int rank = 0; rank < ranks; ++rank) names_.push_back(std::to_string(rank) + "/messages");
  for (int rank = 0; rank < ranks; ++rank) {
    const auto apart = [&](const auto& device) { return device->member()->rank == rank && !device->info().shares_host_memory; };
    const auto first = std::ranges::find_if(entries_, apart);
    if (first == entries_.end()) continue;
    messengers_.push_back(*first);
    names_.push_back(std::to_string(rank) + "/link");
  }
}

void DeviceSet::add_links_of_devices() {
  std::vector<int> linked;  // memory spaces
  std::vector<std::string> names;
  std::vector<std::shared_ptr<Device>> links;
  for (size_t k = 0; k < entries_.size(); ++k) {
    const DeviceInfo& info = entries_[k]->info();
    if (info.shares_host_memory || !info.asynchronous || std::ranges::count(linked, entries_[k]->memory_space())) continue;
    linked.push_back(entries_[k]->memory_space());
    links.push_back(entries_[k]);
    names.push_back(entry_names_[k] + "/link");
  }
  if (links.size() < 2) return;
  messengers_ = std::move(links);
  names_.insert(names_.end(), names.begin(), names.end());
}

LaneId DeviceSet::messenger_for(LaneId lane) const {
  for (size_t i = 0; i < messengers_.size(); ++i)
    if (messengers_[i]->memory_space() == device(lane).memory_space()) return LaneId(entries_.size() + 1 + i);
  return lane;
}

bool DeviceSet::together(LaneId a, LaneId b) const {
  return world() ? rank(a) == rank(b) : device(a).memory_space() == device(b).memory_space();
}

LaneId DeviceSet::link(int rank) const {
  size_t i = static_cast<size_t>(world()->size());
  while (messengers_[i]->member()->rank != rank) ++i;
  return LaneId(entries_.size() + 1 + i);
}

int DeviceSet::threads(LaneId lane) const {
  if (lane == kHostLane) return host_threads_;
  if (lane.index() > entries_.size()) return 1;
  return device(lane).info().uses_host_cores ? lane_threads_ : 1;
}

Result<std::vector<int>> DeviceSet::region_entries(const Region& region) const {
  if (host_only()) return devices_of_shards(region, {0}, shards_);
  const auto check = [&](int id, const char* what) -> Result<void> {
    if (id >= 0 && id < entries()) return {};
    Error error(region.location, "layer '" + region.name + "': " + what + " " + std::to_string(id) +
                                     " is beyond the device list, which has " + std::to_string(entries()) +
                                     (entries() == 1 ? " entry" : " entries"));
    error.note("indices count from 0; list more devices, or `cpu` alone to run the model unpartitioned on the host");
    return error;
  };
  if (region.output_device) {
    SHEAF_TRY(check(*region.output_device, "output_device"));
  }
  std::vector<int> ids(static_cast<size_t>(entries()));
  std::iota(ids.begin(), ids.end(), 0);
  if (region.device_ids) ids = *region.device_ids;
  for (int id : ids) {
    SHEAF_TRY(check(id, "device id"));
  }
  if (ids.empty()) return Error(region.location, "layer '" + region.name + "' has an empty list of device ids");
  return devices_of_shards(region, ids, shards_);
}

bool DeviceSet::any_asynchronous() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const auto& device) { return device->info().asynchronous; });
}

bool DeviceSet::planned() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const auto& device) { return !device->info().planned.empty(); });
}

}  // namespace sheaf
