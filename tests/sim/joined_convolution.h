// Convolutions joined with the batch norms around them (runtime/bind/join_convolutions.h), by plain loops.
#pragma once

#include "runtime/device/operation.h"

namespace sheaf::sim {

/// Whether the step is one that ConvNorms made.
bool is_joined(const Step& step);

/// As Device::prepare() of such a step, with plain operands of f32, bf16 or f16; sums are in double, masks a byte an element.
Result<Prepared> prepare_joined(const PrepareRequest& request);

}  // namespace sheaf::sim
