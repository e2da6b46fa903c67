// Learning-rate schedules.
#pragma once

#include "runtime/plan/plan.h"

namespace sheaf {

/// The learning rate at `epoch` (from 0) under the plan's `training.schedule` (StepLR, MultiStepLR, CosineAnnealingLR,
/// LinearLR; null: `base`): PyTorch's closed forms, stepped once an epoch.
double learning_rate(const Plan& plan, double base, int64_t epoch);

}  // namespace sheaf
