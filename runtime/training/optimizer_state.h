// The states of a plan that last from step to step.
#pragma once

#include "runtime/plan/plan.h"

#include <algorithm>
#include <span>

namespace sheaf {

/// The optimiser's part of Plan::state: without entries that live only within a step.
inline std::span<const Parameter> lasting_state(const Plan& plan) {
  return {plan.state.begin(), std::ranges::find_if(plan.state, &Parameter::transient)};
}

}  // namespace sheaf
