// CUDA's row among the backends. Every build has it: without CUDA's headers it can plan for GPUs, and says why it opens none.
#pragma once

#include "runtime/device/backend.h"

namespace sheaf {

/// `cuda:0`, `cuda:1`, …: GPUs as NVIDIA's driver counts them.
const DeviceBackend& cuda_backend();

}  // namespace sheaf
