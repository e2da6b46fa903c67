// The kinds of devices that there are. Each is a row of a table; runtime/session/open_devices.cpp has the project's own.
#pragma once

#include "runtime/device/description.h"
#include "runtime/device/device.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// What is here of a kind, for `sheaf devices`.
struct DeviceListing {
  Json json;
  std::string text;  ///< lines
};

struct DeviceBackend {
  std::string_view name;  ///< what stands in front of the colon in a device list
  /// Device `index`, open. Errors: there is no such device, or nothing here to use it with; the message says why, and leaves
  /// the device's name to the caller.
  Result<std::shared_ptr<Device>> (*open)(int index);
  /// As plan_device() (runtime/session/open_devices.h). Null: what cannot be opened cannot be planned for either.
  std::shared_ptr<Device> (*plan)(int index, const std::string& why) = nullptr;
  /// What there is, without opening more than it takes to say so; null: nothing to tell.
  DeviceListing (*enumerate)() = nullptr;
  /// What is known of its devices' speed without measuring; null: nothing.
  DeviceDescription (*describe)() = nullptr;
};

const std::vector<const DeviceBackend*>& backends();
std::vector<std::string> backend_names();

/// Null where there is none of this name.
const DeviceBackend* find_backend(std::string_view name);

/// Puts `backend` behind all others, or in the place of the one of its name, which stays without `replace`. It lives as long as the
/// process. Before main(): the project's own (runtime/session/open_devices.cpp), which replace nothing, and a test's virtual devices.
void register_backend(const DeviceBackend& backend, bool replace = true);

}  // namespace sheaf
