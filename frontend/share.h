// Weight tying: "share" entries of an expanded model.
#pragma once

#include "frontend/expand.h"

namespace sheaf::frontend {

/// Every parameter of the graph's layers: full name → layer and shape. Shared ones are listed as well.
struct OwnedParameter {
  Layer* layer;
  std::string own_name;
  std::vector<int64_t> shape;
};
std::map<std::string, OwnedParameter> parameters_of(Graph& graph);

/// Checks the entries (own parameter and target exist, equal shapes, no cycle) and fills in Layer::share, with each target the
/// full name of the parameter at the end of its chain.
void tie_parameters(Graph& graph, const std::vector<ShareEntry>& entries, Problems& problems);

}  // namespace sheaf::frontend
