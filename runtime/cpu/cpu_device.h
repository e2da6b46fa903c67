// The CPU backend of the device contract. All logical CPU devices share the host's memory and cores; how many
// threads an operation uses is decided by the lane that it is prepared for.
#pragma once

#include "runtime/device/device.h"

#include <memory>

namespace sheaf {

/// The machine's CPU; the same object each time.
std::shared_ptr<Device> cpu_device();

}  // namespace sheaf
