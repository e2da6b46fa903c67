// The parameter groups of a plan's optimizer that have a learning rate of their own (training.optimizer.parameter_groups).
#pragma once

#include "runtime/plan/plan.h"

#include <string>
#include <vector>

namespace sheaf {

struct GroupRate {
  std::string setting;  ///< the training program's setting that it is given as
  double lr = 0;        ///< where the optimizer's is the model's
};

/// The setting of the rate of group `index`: "lr[0]".
std::string group_rate_setting(size_t index);

/// Those of the groups with a rate of their own, in their order; none of a plan without groups.
std::vector<GroupRate> group_rates(const Plan& plan);

/// The same where the optimizer's base rate is `base`, not the model's: all groups' change in proportion.
std::vector<GroupRate> group_rates(const Plan& plan, double base);

}  // namespace sheaf
