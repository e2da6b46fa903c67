// ReduceLROnPlateau: the one schedule that follows the results of training (torch.optim.lr_scheduler).
#pragma once

#include "runtime/plan/plan.h"
#include "runtime/training/record.h"
#include "sheaf/trainer.h"

#include <optional>
#include <string>

namespace sheaf {

/// The value that the plan's schedule follows: "train_loss", "eval_loss", "eval_accuracy", …; empty for other schedules.
std::string monitored(const Plan& plan);

/// The value of an epoch for `monitor`; none if it wasn't measured.
std::optional<double> monitored_value(const EpochRecord& record, const std::string& monitor);

/// The state after an epoch with this `value`, by `schedule`'s arguments. A value that isn't finite is never better.
Plateau after_epoch(const Json& schedule, Plateau before, double value);

/// `base` after this many reductions.
double reduced_rate(const Json& schedule, double base, int64_t reductions);

}  // namespace sheaf
