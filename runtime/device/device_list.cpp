#include "runtime/device/device_list.h"

#include "runtime/base/suggest.h"
#include "runtime/device/backend.h"

#include <algorithm>
#include <optional>

namespace sheaf {
namespace {

Error bad_entry(std::string_view entry, const std::string& why) {
  Error error("device list: '" + std::string(entry) + "' " + why);
  error.note("a list reads like cpu:0,cpu:1 or cpu:0-3 or cuda:0; cpu alone runs everything on the host");
  return error;
}

/// Appends one entry of the list, several if it is a range.
Result<void> parse_entry(std::string_view entry, std::vector<DeviceSpec>& devices) {
  DeviceSpec spec;
  const std::string_view whole = entry;
  if (const size_t slash = entry.find('/'); slash != std::string_view::npos) {
    const auto rank = parse_device_index(entry.substr(0, slash));
    if (!rank || *rank >= kMostDevices)
      return bad_entry(entry, "has no valid rank; expected a number before the slash, as in 1/cpu:0");
    spec.rank = *rank;
    entry.remove_prefix(slash + 1);
    if (entry == "cpu") return bad_entry(whole, "is host-only mode, which runs in one process");
  }
  const size_t colon = entry.find(':');
  const std::string_view kind = entry.substr(0, colon);
  if (entry.empty()) return Error("device list: an entry is empty; expected cpu, cpu:K, cpu:K-L or cuda:K");
  if (!find_backend(kind)) return bad_entry(entry, "is of an unknown kind" + suggestion(kind, backend_names()));
  spec.kind = kind;
  int first = 0, last = 0;
  if (colon != std::string_view::npos) {
    const std::string_view range = entry.substr(colon + 1);
    const size_t dash = range.find('-');
    const auto low = parse_device_index(range.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : parse_device_index(range.substr(dash + 1));
    if (!low || !high) return bad_entry(entry, "has no valid index; expected a number, or two with a dash between");
    if (*high < *low) return bad_entry(entry, "is a range that runs backwards");
    if (*high >= kMostDevices) return bad_entry(entry, "goes beyond index " + std::to_string(kMostDevices - 1));
    first = *low;
    last = *high;
  }
  for (spec.index = first; spec.index <= last; ++spec.index) devices.push_back(spec);
  if (devices.size() > static_cast<size_t>(kMostDevices)) {
    return Error("device list: more than " + std::to_string(kMostDevices) + " entries");
  }
  return {};
}

/// Either no entry has a rank, or all have, from 0 on, in order and without a gap.
Result<void> check_ranks(const std::vector<DeviceSpec>& devices) {
  int last = std::min(devices.front().rank, 0);
  for (const DeviceSpec& device : devices) {
    if ((device.rank == -1) != (last == -1))
      return bad_entry(to_string(device), device.rank == -1 ? "has no rank, others have" : "has a rank, others have none");
    const bool next = &device != &devices.front() && device.rank == last + 1;
    if (device.rank != last && !next)
      return bad_entry(to_string(device), "is out of order: ranks count from 0, and each has a device");
    last = device.rank;
  }
  return {};
}

}  // namespace

std::string to_string(const DeviceSpec& spec) {
  if (spec.host) return "cpu";
  return (spec.rank < 0 ? "" : std::to_string(spec.rank) + "/") + spec.kind + ":" + std::to_string(spec.index);
}

Result<std::vector<DeviceSpec>> parse_devices(std::string_view text) {
  std::vector<DeviceSpec> devices;
  if (text == "cpu") {
    DeviceSpec host;
    host.host = true;
    devices.push_back(host);
    return devices;
  }
  for (size_t begin = 0;;) {
    const size_t comma = text.find(',', begin);
    const size_t length = comma == std::string_view::npos ? comma : comma - begin;
    SHEAF_TRY(parse_entry(text.substr(begin, length), devices));
    if (comma == std::string_view::npos) break;
    begin = comma + 1;
  }
  SHEAF_TRY(check_ranks(devices));
  return devices;
}

int ranks_of(const std::vector<DeviceSpec>& devices) { return devices.empty() ? 0 : devices.back().rank + 1; }

Result<std::vector<DeviceSpec>> joined_lists(const std::vector<std::vector<DeviceSpec>>& lists) {
  std::vector<DeviceSpec> all;
  for (size_t rank = 0; rank < lists.size(); ++rank) {
    if (is_host_only(lists[rank]))
      return Error("rank " + std::to_string(rank) + ": --devices cpu is host-only mode, which runs in one process")
          .note("name devices, as in --devices cpu:0");
    if (ranks_of(lists[rank]) > 0)
      return Error("rank " + std::to_string(rank) + ": --devices names ranks, but each process has a list of its own")
          .note("ranks are for looking at a run without starting it");
    for (DeviceSpec device : lists[rank]) {
      device.rank = static_cast<int>(rank);
      all.push_back(device);
    }
  }
  return all;
}

bool is_host_only(const std::vector<DeviceSpec>& devices) {
  return devices.empty() || (devices.size() == 1 && devices[0].host);
}

}  // namespace sheaf
