// A GPU that isn't there: a device on which programs can be bound as far as that goes without running anything.
#pragma once

#include "runtime/cuda/library.h"
#include "runtime/device/device.h"

#include <memory>
#include <string>
#include <vector>

namespace sheaf {

/// `count` GPUs whose operations are prepared by `library` (vendor/library.h, for planning). They have memory to plan for, and
/// no calls but those that binding makes before it allocates.
std::vector<std::shared_ptr<Device>> planning_devices(std::shared_ptr<cuda::Library> library, int count);

}  // namespace sheaf
