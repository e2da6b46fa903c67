// Values that have a name outside of the plan: layers' results, parameters' gradients.
#pragma once

#include "runtime/plan/plan.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// By parameter: the value of its shape that its update, or the optimiser's new state, is made from: the gradient.
/// Parameters without an update have none.
std::map<std::string, int> gradients_of(const Plan& plan, const Program& program);

/// The value of each layer of an inference program, in order: what its last step makes, which is that of the last layer where
/// several are fused into one.
std::vector<std::pair<std::string, int>> layer_results(const Program& program);

}  // namespace sheaf
