// The parameter groups of a plan's optimizer that have their own learning rate (training.optimizer.parameter_groups).
#pragma once

#include "runtime/plan/plan.h"

#include <string>
#include <vector>

namespace sheaf {

struct GroupRate {
  std::string setting;  ///< the training program's setting that holds it
  double lr = 0;        ///< if the optimizer has the model's
};

/// The setting for the rate of group `index`: "lr[0]".
std::string group_rate_setting(size_t index);

/// The groups with their own rate, in order; none for a plan without groups.
std::vector<GroupRate> group_rates(const Plan& plan);

/// The same if the optimizer's base rate is `base`, not the model's: all groups' change in proportion.
std::vector<GroupRate> group_rates(const Plan& plan, double base);

}  // namespace sheaf
