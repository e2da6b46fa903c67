// Copies between the formats of GPUs, on the host.
#pragma once

#include "runtime/device/operation.h"

namespace sheaf::sim {

/// `from` and `to` have the same dims, and are plain or have channels last. Their dtypes are the same, or f32 and bf16 or f16.
void relayout(const TensorSpec& from, const void* source, const TensorSpec& to, void* target);

}  // namespace sheaf::sim
