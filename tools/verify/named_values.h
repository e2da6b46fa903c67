// Values that have a name outside of the plan: layers' results, parameters' gradients.
#pragma once

#include "runtime/plan/plan.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// By parameter: its gradient, the value of its shape from which its update, or the optimiser's new state, is computed.
/// Parameters without an update have none, nor do those whose gradients are added up in the optimiser's kernel.
/// Nor do those of a plan with a scaled loss, where further values stand between a gradient and the update.
std::map<std::string, int> gradients_of(const Plan& plan, const Program& program);

/// The values of an inference program that are a layer's result, in order. A step of several layers gives the last one's. A
/// layer of several steps is left out, because it isn't known which of them gives its result.
std::vector<std::pair<std::string, int>> layer_results(const Program& program);

}  // namespace sheaf
