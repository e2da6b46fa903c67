// What this machine's CPU is, known without opening a device.
#pragma once

#include "runtime/device/device.h"

namespace sheaf {

/// Of all logical CPU devices together: the cores that this process may use, and the machine's memory.
const DeviceInfo& cpu_info();

}  // namespace sheaf
