// Two plans of one model, on the host.
#pragma once

#include "runtime/verify/verify.h"

namespace sheaf {

/// Runs `plan` and `reference`, compiled from the same model on another way (unpartitioned, nothing fused), on the host alone
/// and compares what they have in common: in inference each layer's result, in training the loss, gradients, parameters,
/// buffers and state. They round differently from the start, so tolerances are wider (docs/verify.md). Errors: as verify().
Result<Verification> verify_compiler(const Plan& plan, const Plan& reference, const NamedTensors& weights,
                                     const NamedTensors& data, const VerifyOptions& options);

}  // namespace sheaf
