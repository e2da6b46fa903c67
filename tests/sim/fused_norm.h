// Batch norm with its neighbours (runtime/bind/fuse_norms.h), composed of the CPU's batch norm and plain loops.
#pragma once

#include "runtime/device/device.h"

namespace sheaf::sim {

/// Whether the step is one that NormFusions made.
bool is_fused_norm(const Step& step);

/// Like Device::prepare() for such a step, in float32 and with all operands plain; the mask has one byte per element.
/// `operations` prepares the batch norm itself.
Result<Prepared> prepare_fused_norm(const PrepareRequest& request, Device& operations);

}  // namespace sheaf::sim
