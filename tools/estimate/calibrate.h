// Measures what the CPU can do, for time estimates and profiles: the data that `sheaf bench --calibrate` writes.
#pragma once

#include "runtime/cost/description.h"

namespace sheaf {

/// Runs matrix products and convolutions through the library, walks through memory, and times signals and copies between two
/// threads, five times, and takes medians: half a minute, some 200 MiB. Beside other work, it finds the rates that are left, as a run would.
/// Errors: no memory, an operation that the library rejects.
Result<DeviceDescriptions> calibrate();

}  // namespace sheaf
