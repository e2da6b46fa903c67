// PyTorch's learning-rate schedules in closed form (torch.optim.lr_scheduler).
#include "runtime/training/schedule.h"

#include "runtime/training/loss_section.h"
#include "runtime/training/plateau.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace sheaf {
namespace {

/// Half a wave of a cosine: `from` at 0, `to` at 1.
double by_cosine(double from, double to, double share) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * share)) / 2;
}
double by_line(double from, double to, double share) { return from + (to - from) * share; }

/// Milestones that have been reached.
int64_t passed(const Json& milestones, double at) {
  if (!milestones.is_array()) return 0;
  return std::count_if(milestones.begin(), milestones.end(),
                       [&](const Json& milestone) { return milestone.is_number() && milestone.get<double>() <= at; });
}

double step_lr(const Json& s, double base, double at) {
  return base * std::pow(number_of(s, "gamma", 0.1), std::floor(at / std::max(1.0, number_of(s, "step_size", 1))));
}

double multi_step_lr(const Json& s, double base, double at) {
  return base * std::pow(number_of(s, "gamma", 0.1), static_cast<double>(passed(member_of(s, "milestones"), at)));
}

double exponential_lr(const Json& s, double base, double at) { return base * std::pow(number_of(s, "gamma", 0.1), at); }

double constant_lr(const Json& s, double base, double at) {
  return at < number_of(s, "total_iters", 5) ? base * number_of(s, "factor", 1.0 / 3) : base;
}

double linear_lr(const Json& s, double base, double at) {
  const double total = std::max(1.0, number_of(s, "total_iters", 5));
  return base * by_line(number_of(s, "start_factor", 1.0 / 3), number_of(s, "end_factor", 1), std::min(at, total) / total);
}

double polynomial_lr(const Json& s, double base, double at) {
  const double total = std::max(1.0, number_of(s, "total_iters", 5));
  return base * std::pow(1 - std::min(at, total) / total, number_of(s, "power", 1));
}

double cosine_annealing_lr(const Json& s, double base, double at) {
  return by_cosine(base, number_of(s, "eta_min", 0), at / std::max(1.0, number_of(s, "T_max", 1)));
}

double cosine_annealing_warm_restarts(const Json& s, double base, double at) {
  double period = std::max(1.0, number_of(s, "T_0", 1));
  const double factor = std::max(1.0, number_of(s, "T_mult", 1));
  if (factor == 1) {
    at = std::fmod(at, period);
  } else {
    for (; at >= period; period *= factor) at -= period;
  }
  return by_cosine(base, number_of(s, "eta_min", 0), at / period);
}

/// Up to max_lr, down again, and on to almost nothing; the optimiser's own rate has no part in it.
double one_cycle_lr(const Json& s, double, double at) {
  const double most = number_of(s, "max_lr", 0), initial = most / number_of(s, "div_factor", 25);
  const double least = initial / number_of(s, "final_div_factor", 1e4);
  const double last = number_of(s, "total_steps", 1) - 1, up = number_of(s, "pct_start", 0.3) * (last + 1) - 1;
  const auto between = member_of(s, "anneal_strategy") == "linear" ? by_line : by_cosine;
  at = std::min(at, last);
  if (at <= up) return between(initial, most, at / up);
  if (member_of(s, "three_phase") != true) return between(most, least, last > up ? (at - up) / (last - up) : 1);
  const double down = 2 * up;
  return at <= down ? between(most, initial, (at - up) / (down - up)) : between(initial, least, (at - down) / (last - down));
}

double rate(const Json& schedule, double base, double at);

/// One schedule after another, each from its own beginning.
double sequential_lr(const Json& s, double base, double at) {
  const Json &schedulers = member_of(s, "schedulers"), &milestones = member_of(s, "milestones");
  const int64_t past = passed(milestones, at);
  if (!schedulers.is_array() || past >= std::ssize(schedulers)) return base;
  const auto index = static_cast<size_t>(past);
  return rate(schedulers[index], base, past == 0 ? at : at - milestones[index - 1].get<double>());
}

double rate(const Json& schedule, double base, double at) {
  static const std::map<std::string, double (*)(const Json&, double, double)> rows = {
      {"StepLR", step_lr},
      {"MultiStepLR", multi_step_lr},
      {"ExponentialLR", exponential_lr},
      {"ConstantLR", constant_lr},
      {"LinearLR", linear_lr},
      {"PolynomialLR", polynomial_lr},
      {"CosineAnnealingLR", cosine_annealing_lr},
      {"CosineAnnealingWarmRestarts", cosine_annealing_warm_restarts},
      {"OneCycleLR", one_cycle_lr},
      {"SequentialLR", sequential_lr},
  };
  if (!member_of(schedule, "type").is_string()) return base;
  const auto row = rows.find(member_of(schedule, "type").get<std::string>());
  return row == rows.end() ? base : row->second(schedule, base, at);
}

}  // namespace

bool counts_steps(const Plan& plan) { return member_of(member_of(plan.training, "schedule"), "interval") == "step"; }

double learning_rate(const Plan& plan, double base, const TrainingTime& time) {
  if (!monitored(plan).empty()) return reduced_rate(member_of(plan.training, "schedule"), base, time.reductions);
  const int64_t at = counts_steps(plan) ? time.steps : time.epochs;
  return rate(member_of(plan.training, "schedule"), base, static_cast<double>(std::max<int64_t>(at, 0)));
}

}  // namespace sheaf
