// This machine's CPU, known without opening a device.
#pragma once

#include "runtime/device/device.h"

namespace sheaf {

/// For all logical CPU devices together: the cores that this process may use, and the machine's memory.
const DeviceInfo& cpu_info();

}  // namespace sheaf
