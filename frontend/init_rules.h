// The "init" section: initial distributions by layer type.
#pragma once

#include "frontend/model.h"
#include "frontend/value.h"

#include <vector>

namespace sheaf::frontend {

/// Reads and checks {"types": […], "weight": {…}, …} rules; types must be layers with parameters, the other keys names of
/// parameters that one of the types has.
std::vector<InitRule> read_init_rules(const LocatedNode& list, Problems& problems);

/// Distributions that need a matrix (xavier, kaiming) must not meet a vector in `graph`.
void check_init_shapes(Graph& graph, const std::vector<InitRule>& rules, Problems& problems);

}  // namespace sheaf::frontend
