#include "runtime/device/device_list.h"

#include "runtime/base/suggest.h"
#include "runtime/device/backend.h"

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
  const size_t colon = entry.find(':');
  const std::string_view kind = entry.substr(0, colon);
  DeviceSpec spec;
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

}  // namespace

std::string to_string(const DeviceSpec& spec) {
  if (spec.host) return "cpu";
  return spec.kind + ":" + std::to_string(spec.index);
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
    if (comma == std::string_view::npos) return devices;
    begin = comma + 1;
  }
}

bool is_host_only(const std::vector<DeviceSpec>& devices) {
  return devices.empty() || (devices.size() == 1 && devices[0].host);
}

}  // namespace sheaf
