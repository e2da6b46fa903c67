// Two plans of one model, on the host.
#pragma once

#include "tools/verify/verify.h"

namespace sheaf {

/// Programs of a model whose parallel regions mix rows.
struct MixingPrograms {
  bool infer = false, train = false;
};

/// Runs `plan` and `reference`, compiled from the same model in another way (unpartitioned, nothing fused), and compares what
/// they have in common: in inference each layer's result, in training the loss, gradients, parameters, buffers and state. They
/// round differently from the start, so tolerances are wider (docs/verify.md). `reference` runs on the host. So does `plan` in
/// the programs that `mixes` names: those in which a replica's result depends on its rows, so several devices compute something
/// else (batch statistics). The model decides that, not the plan under test. Errors: as verify().
Result<Verification> verify_compiler(const Plan& plan, const Plan& reference, const NamedTensors& weights,
                                     const NamedTensors& data, const VerifyOptions& options, const MixingPrograms& mixes);

}  // namespace sheaf
