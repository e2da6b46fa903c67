// The devices of a run, as the command line and the C++ interface name them.
#pragma once

#include "runtime/base/device_name.h"
#include "runtime/base/error.h"

#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// One entry of a device list.
struct DeviceSpec {
  std::string kind = "cpu";  ///< its backend's name (runtime/device/backend.h)
  int index = 0;
  bool host = false;  ///< the list is just `cpu`: host-only mode
  int rank = -1;      ///< of the device's process, in a world of several; -1: this one
  bool operator==(const DeviceSpec&) const = default;
};

/// "cpu:0", "cuda:1"; "1/cpu:0" with a rank; "cpu" for host-only mode.
std::string to_string(const DeviceSpec& spec);

/// Parses "cpu:0,cpu:1", "cpu:0-3", "cuda:0,cpu:0" or "cpu", and with ranks "0/cpu:0,1/cpu:0". Plain `cpu` is host-only mode;
/// in a longer list it means cpu:0, as `cuda` means cuda:0. A device may be listed twice. Every error is one of spelling (an
/// empty entry, a kind that no backend has, a bad index, a range that runs backwards, more than kMostDevices, ranks that are
/// missing or out of order): the command line reports it as its own fault. open_device finds out whether the devices exist.
Result<std::vector<DeviceSpec>> parse_devices(std::string_view text);

/// How many processes a list covers: the highest rank plus one; 0: it has no ranks.
int ranks_of(const std::vector<DeviceSpec>& devices);
/// Joins the lists of all processes, by rank. Errors: one of them is host-only mode, or has ranks.
Result<std::vector<DeviceSpec>> joined_lists(const std::vector<std::vector<DeviceSpec>>& lists);

/// True for an empty list and for plain `cpu`.
bool is_host_only(const std::vector<DeviceSpec>& devices);

}  // namespace sheaf
