// Device lists become devices: the one place that knows every backend.
#pragma once

#include "runtime/device/device_set.h"

namespace sheaf {

/// Opens the device that `spec` names. Errors: no backend of this kind in this build, or no such device.
Result<std::shared_ptr<Device>> open_device(const DeviceSpec& spec);

/// Opens each device of a parsed list. `threads`: 0 = all CPUs that the process may use.
Result<DeviceSet> open_devices(const std::vector<DeviceSpec>& list, int threads = 0);

}  // namespace sheaf
