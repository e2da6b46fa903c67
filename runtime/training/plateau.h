// ReduceLROnPlateau: the one schedule that goes by what training has come to (torch.optim.lr_scheduler).
#pragma once

#include "runtime/plan/plan.h"
#include "runtime/training/record.h"
#include "sheaf/trainer.h"

#include <optional>
#include <string>

namespace sheaf {

/// What the plan's schedule goes by: "train_loss", "eval_loss", "eval_accuracy", …; empty if it isn't ReduceLROnPlateau.
std::string monitored(const Plan& plan);

/// The value of an epoch for `monitor`; none if it wasn't measured.
std::optional<double> monitored_value(const EpochRecord& record, const std::string& monitor);

/// The state after an epoch that came to `value`, by `schedule`'s arguments. What isn't finite is no better than anything.
Plateau after_epoch(const Json& schedule, Plateau before, double value);

/// `base` after so many reductions.
double reduced_rate(const Json& schedule, double base, int64_t reductions);

}  // namespace sheaf
