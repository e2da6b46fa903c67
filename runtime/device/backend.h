// The kinds of devices. Each is a row of a table; runtime/session/open_devices.cpp has the project's rows.
#pragma once

#include "runtime/device/description.h"
#include "runtime/device/device.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// What this machine has of a kind, for `sheaf devices`.
struct DeviceListing {
  Json json;
  std::string text;  ///< lines
};

struct DeviceBackend {
  std::string_view name;  ///< the part in front of the colon in a device list
  /// Opens device `index`. Errors: there is no such device, or this machine lacks what it needs; the message says why, and
  /// leaves the device's name to the caller.
  Result<std::shared_ptr<Device>> (*open)(int index);
  /// Like plan_device() (runtime/session/open_devices.h), for a device of `model`, one of models(), or, if that is empty, the
  /// first. Null: a device that can't be opened can't be planned for either.
  std::shared_ptr<Device> (*plan)(int index, const std::string& why, const std::string& model) = nullptr;
  /// Lists the devices here, opening no more than necessary; null: nothing to list.
  DeviceListing (*enumerate)() = nullptr;
  /// The speed of its devices as known without measuring, for `model`, or, if that is empty, for any; null: unknown.
  DeviceDescription (*describe)(const std::string& model) = nullptr;
  /// The devices that it can describe: the names for --device-model ("h200"). Null: none.
  std::vector<std::string> (*models)() = nullptr;
};

const std::vector<const DeviceBackend*>& backends();
std::vector<std::string> backend_names();

/// Null if no backend has this name.
const DeviceBackend* find_backend(std::string_view name);

/// Adds `backend` after all others, or replaces the one with its name; without `replace` the existing one stays. It lives as
/// long as the process. Called before main(): for the project's own (runtime/session/open_devices.cpp), which replace nothing,
/// and a test's virtual devices.
void register_backend(const DeviceBackend& backend, bool replace = true);

}  // namespace sheaf
