// The CPU's row among the backends.
#pragma once

#include "runtime/device/backend.h"

namespace sheaf {

/// `cpu:0`, `cpu:1`, …: all are the machine's one CPU.
const DeviceBackend& cpu_backend();

}  // namespace sheaf
