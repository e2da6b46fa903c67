#include "runtime/training/plateau.h"

#include "runtime/training/best_epoch.h"
#include "runtime/training/loss_section.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace sheaf {
namespace {

constexpr std::string_view kEvaluated = "eval_";

/// By more than the threshold.
bool is_better(const Json& schedule, double value, double best) {
  const double threshold = number_of(schedule, "threshold", 1e-4);
  const bool larger = member_of(schedule, "mode") == "max";
  if (member_of(schedule, "threshold_mode") == "abs") return larger ? value > best + threshold : value < best - threshold;
  return larger ? value > best * (1 + threshold) : value < best * (1 - threshold);
}

}  // namespace

std::string monitored(const Plan& plan) {
  const Json& schedule = member_of(plan.training, "schedule");
  const Json& monitor = member_of(schedule, "monitor");
  return member_of(schedule, "type") == "ReduceLROnPlateau" && monitor.is_string() ? monitor.get<std::string>() : "";
}

std::optional<double> monitored_value(const EpochRecord& record, const std::string& monitor) {
  if (monitor == "train_loss") return record.train_loss;
  if (!record.evaluation || !monitor.starts_with(kEvaluated)) return std::nullopt;
  return BestEpoch::value_of(*record.evaluation, monitor.substr(kEvaluated.size()));
}

Plateau after_epoch(const Json& schedule, Plateau state, double value) {
  if (std::isfinite(value) && (!state.best || is_better(schedule, value, *state.best))) {
    state.best = value;
    state.bad_epochs = 0;
  } else {
    ++state.bad_epochs;
  }
  if (state.cooldown > 0) {
    --state.cooldown;
    state.bad_epochs = 0;
  }
  if (static_cast<double>(state.bad_epochs) <= number_of(schedule, "patience", 10)) return state;
  ++state.reductions;
  state.cooldown = static_cast<int64_t>(number_of(schedule, "cooldown", 0));
  state.bad_epochs = 0;
  return state;
}

double reduced_rate(const Json& schedule, double base, int64_t reductions) {
  const double factor = number_of(schedule, "factor", 0.1), least = number_of(schedule, "min_lr", 0),
               eps = number_of(schedule, "eps", 1e-8);
  double rate = base;
  for (int64_t i = 0; i < reductions; ++i) {
    const double next = std::max(rate * factor, least);
    if (!(rate - next > eps)) break;  // no later reduction does more
    rate = next;
  }
  return rate;
}

}  // namespace sheaf
