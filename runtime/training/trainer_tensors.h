// A trainer's tensors in a checkpoint: parameters and buffers, then the optimiser's state.
#pragma once

#include "runtime/plan/plan.h"
#include "sheaf/trainer.h"

#include <span>
#include <vector>

namespace sheaf {

/// Their declarations; names are PyTorch's.
std::vector<const Parameter*> checkpoint_tensors(const Plan& plan);

/// Their current values, in that order. Errors: weights were never set; a device's.
Result<std::vector<NamedTensor>> read_tensors(const Trainer& trainer);

/// Sets them all. `tensors` are in that order too, with the declared sizes.
Result<void> set_tensors(Trainer& trainer, std::span<const HostTensor> tensors);

}  // namespace sheaf
