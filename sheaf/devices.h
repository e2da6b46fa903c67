// The devices that models are bound to, as a value.
#pragma once

#include "runtime/base/error.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

class DeviceSet;

/// Opened devices, in order. Copies are the same devices; everything bound to them keeps them open. Any number of models,
/// sessions and trainers, on any threads, may be bound to one list.
class DeviceList {
 public:
  /// `list` as on the command line: "cpu:0,cpu:1", "cpu:0-3", "cuda:0"; plain "cpu" is host-only mode, in which nothing is
  /// partitioned. A device may be listed twice. `threads`: total CPU threads, divided among the CPU devices; 0: all that the
  /// process may use. `shards`: parts that every batch is cut into, so that all lists give the same bits (docs/strategies.md);
  /// 0: one for each device. Errors: a malformed list; a missing device; a negative number of shards, or more than 4096.
  static Result<DeviceList> open(std::string_view list, int threads = 0, int shards = 0);

  /// "cpu:0", "cpu:1", …, with ranges expanded; {"cpu"} in host-only mode.
  std::vector<std::string> names() const;
  /// The same separated by commas, as open() takes it.
  std::string text() const;
  /// Entries of the list; 0 in host-only mode.
  size_t size() const;

  // sheaf's own: devices that are already open.
  DeviceList(std::shared_ptr<const DeviceSet> devices) : devices_(std::move(devices)) {}
  const std::shared_ptr<const DeviceSet>& set() const { return devices_; }

 private:
  std::shared_ptr<const DeviceSet> devices_;
};

/// What this machine has, by kind of device, and what is missing to use more: the object that `sheaf devices --json` prints.
std::string devices_json();

}  // namespace sheaf
