// The opened devices of a run, and the lanes that they make.
#pragma once

#include "runtime/base/id.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.h"

#include <memory>
#include <string>
#include <vector>

namespace sheaf {

/// A position among a device set's lanes.
using LaneId = Id<struct Lane>;
inline constexpr LaneId kHostLane{0};

/// Lane 0 is the host; entry k of the device list is lane k + 1. A device listed twice makes two lanes, each with
/// an equal share of the cores, so that cpu:0,cpu:0 and cpu:0,cpu:1 compute the same bits. With shards, all lists do. In
/// host-only mode, and if the list is one CPU device (whose share is all cores), the host's lane serves for that entry too.
/// In a world of several processes each rank has a lane for its messages, after those of the entries; the host's is rank 0's. A
/// lane for messages works in its host's memory; if a rank has an entry with a memory of its own, the first such entry gets a second
/// lane, after those, which takes what comes and goes between the two memories: the rank's link. With a direct transport, it also sends
/// and receives what is between memories of ranks' entries.
/// In one process, each of several asynchronous entries with memories of their own gets a second lane, its link, which takes what
/// a training step adds up and hands round between these memories while the first lane computes.
class DeviceSet {
 public:
  /// `host` runs host steps with `threads` threads; those of `entries` that run on its cores divide them (each gets
  /// at least 1). `names[k]` is what messages call entry k. Without entries: host-only mode. `shards`: parts that each region
  /// cuts its rows into, whatever the entries; then every lane has as many threads as if there were one for each shard, since
  /// the order in which a library adds may depend on their number. 0: a part for each device.
  /// Either no entry is a member of a world, or all are, in the order of their ranks. `hosts`: in a world, each rank's host, by
  /// rank; `host` is the first of them.
  DeviceSet(std::shared_ptr<Device> host, std::vector<std::shared_ptr<Device>> entries, std::vector<std::string> names,
            int threads, int shards = 0, std::vector<std::shared_ptr<Device>> hosts = {});

  bool host_only() const { return entries_.empty(); }
  int entries() const { return static_cast<int>(entries_.size()); }
  IdRange<LaneId> lanes() const { return IdRange<LaneId>(merged_ ? 1 : entries_.size() + 1 + messengers_.size()); }
  /// The lane of entry `k`; in host-only mode the host's, whatever k is.
  LaneId lane_of_entry(int k) const { return merged_ ? kHostLane : LaneId(k + 1); }
  /// The entry of a lane; -1: the host.
  static int entry_of_lane(LaneId lane) { return lane.number() - 1; }
  /// The device in whose memory a lane works.
  Device& device(LaneId lane) const {
    if (lane == kHostLane) return *host_;
    const size_t entry = lane.index() - 1;
    return entry < entries_.size() ? *entries_[entry] : *messengers_[entry - entries_.size()];
  }
  Device& host() const { return *host_; }
  /// The world whose processes have the devices; null: this process has all of them.
  World* world() const { return host_->member() ? host_->member()->world.get() : nullptr; }
  /// The lane for the messages of `rank`, in a world.
  LaneId message_lane(int rank) const { return LaneId(entries_.size() + 1 + static_cast<size_t>(rank)); }
  /// A lane for messages, or a link.
  bool messenger(LaneId lane) const { return lane.index() > entries_.size(); }
  bool has_messengers() const { return !messengers_.empty(); }
  /// The lane that works, for `lane`, on what comes from other ranks, or along links, or goes there, in the same memory: a lane for
  /// messages, a link, or, if that memory has neither, `lane` itself.
  LaneId messenger_for(LaneId lane) const;
  /// Whether what one lane makes costs the other nothing to have, or a copy of the rank's own: lanes of one rank, or, in one
  /// process, of one memory.
  bool together(LaneId a, LaneId b) const;
  /// In a world: the link of `rank`, which has an entry with a memory of its own.
  LaneId link(int rank) const;
  /// In a world: how messages go between memories of ranks' entries.
  const Transport& transport() const { return transport_; }
  void use(Transport transport) { transport_ = std::move(transport); }
  /// Whether a lane works in the memory of its rank's host.
  bool in_host_memory(LaneId lane) const { return device(lane).info().shares_host_memory; }
  /// The rank whose process runs a lane; 0 without a world.
  int rank(LaneId lane) const { return device(lane).member() ? device(lane).member()->rank : 0; }
  bool here(LaneId lane) const { return !elsewhere(device(lane)); }
  /// Whether some entry's queues return before its work is done.
  bool any_asynchronous() const;
  /// Whether some device is absent, so that bindings can only be planned.
  bool planned() const;
  int threads(LaneId lane) const;
  int shards() const { return shards_; }
  /// "host", "cpu:1", …
  const std::string& name(LaneId lane) const { return names_[lane]; }
  /// The name of entry `k` as listed ("host" in host-only mode).
  const std::string& entry_name(int k) const { return entry_names_[static_cast<size_t>(host_only() ? 0 : k)]; }

  /// The entry of each possible replica of a region: its devices' in order, or those that its shards run on;
  /// in host-only mode 0. Errors, located at the region: a device id beyond the list's end; more devices than shards.
  Result<std::vector<int>> region_entries(const Region& region) const;

 private:
  void add_links_of_ranks();
  void add_links_of_devices();

  std::shared_ptr<Device> host_;
  std::vector<std::shared_ptr<Device>> entries_;
  IdVector<LaneId, std::string> names_;
  std::vector<std::string> entry_names_;             ///< by entry; in host-only mode one
  std::vector<std::shared_ptr<Device>> messengers_;  ///< of the lanes behind the entries'
  Transport transport_;
  int host_threads_;
  int lane_threads_;
  int shards_;
  bool merged_;
};

}  // namespace sheaf
