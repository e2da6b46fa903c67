// Learning-rate schedules.
#pragma once

#include "runtime/plan/plan.h"

namespace sheaf {

/// The progress for which a rate is requested; `reductions` are ReduceLROnPlateau's.
struct TrainingTime {
  int64_t epochs = 0, steps = 0, reductions = 0;
};

/// Whether the plan's schedule advances with each step ("interval": "step"), not with each epoch.
bool counts_steps(const Plan& plan);

/// The learning rate of the next step under the plan's `training.schedule` (null: `base`): PyTorch's closed forms.
double learning_rate(const Plan& plan, double base, const TrainingTime& time);

}  // namespace sheaf
