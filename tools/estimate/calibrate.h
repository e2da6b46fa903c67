// Measures what the CPU can do, for time estimates and profiles: the data that `sheaf bench --calibrate` writes.
#pragma once

#include "runtime/cost/description.h"

namespace sheaf {

/// Runs matrix products and convolutions through the library, walks through memory, and times signals and copies between two
/// threads: a few seconds, some 200 MiB. Use a quiet machine. Errors: no memory, an operation that the library rejects.
Result<DeviceDescriptions> calibrate();

}  // namespace sheaf
