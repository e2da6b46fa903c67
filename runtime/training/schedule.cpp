// PyTorch's learning-rate schedules in closed form (torch.optim.lr_scheduler), stepped once an epoch.
#include "runtime/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sheaf {
namespace {

double number(const Json& object, const char* name, double otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

}  // namespace

double learning_rate(const Plan& plan, double base, int64_t epoch) {
  if (!plan.training.is_object() || !plan.training.contains("schedule")) return base;
  const Json& schedule = plan.training["schedule"];
  if (!schedule.is_object()) return base;
  const auto type = schedule.find("type");
  const auto at = static_cast<double>(std::max<int64_t>(epoch, 0));
  if (type == schedule.end()) return base;
  if (*type == "StepLR") {
    const double drops = std::floor(at / std::max(1.0, number(schedule, "step_size", 1)));
    return base * std::pow(number(schedule, "gamma", 0.1), drops);
  }
  if (*type == "MultiStepLR") {
    const Json milestones = schedule.value("milestones", Json::array());
    const auto passed = std::count_if(milestones.begin(), milestones.end(), [&](const Json& milestone) {
      return milestone.is_number() && milestone.get<double>() <= at;
    });
    return base * std::pow(number(schedule, "gamma", 0.1), static_cast<double>(passed));
  }
  if (*type == "CosineAnnealingLR") {
    const double least = number(schedule, "eta_min", 0);
    const double period = std::max(1.0, number(schedule, "T_max", 1));
    return least + (base - least) * (1 + std::cos(std::numbers::pi * at / period)) / 2;
  }
  if (*type == "LinearLR") {
    const double start = number(schedule, "start_factor", 1.0 / 3), end = number(schedule, "end_factor", 1);
    const double epochs = std::max(1.0, number(schedule, "total_iters", 5));
    return base * (start + (end - start) * std::min(at, epochs) / epochs);
  }
  return base;
}

}  // namespace sheaf
