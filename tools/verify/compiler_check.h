// Two plans of one model, on the host.
#pragma once

#include "tools/verify/verify.h"

namespace sheaf {

/// Programs of a model whose parallel regions mix rows.
struct MixingPrograms {
  bool infer = false, train = false;
};

/// Runs `plan` and `reference`, compiled from the same model on another way (unpartitioned, nothing fused), and compares what
/// they have in common: in inference each layer's result, in training the loss, gradients, parameters, buffers and state.
/// They round differently from the start, so tolerances are wider (docs/verify.md). `reference` runs on the host. So does
/// `plan` in the programs that `mixes` says: those in which a replica's result depends on which rows it has, so that on
/// several devices it means something else (batch statistics). That is the model's to say, not the plan's that is judged.
/// Errors: as verify().
Result<Verification> verify_compiler(const Plan& plan, const Plan& reference, const NamedTensors& weights,
                                     const NamedTensors& data, const VerifyOptions& options, const MixingPrograms& mixes);

}  // namespace sheaf
