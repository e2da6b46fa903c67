// What a binding made of the steps: implementations, layouts, reorders, costs.
#pragma once

#include "tools/explain/explain.h"

namespace sheaf {

/// Binds the plan as `request` says and adds to each step the operations that run for it, merging equal ones of several
/// replicas. If devices of the list are absent, the binding is only planned, and they are returned. Errors: those of binding.
Result<std::vector<PlannedDevice>> add_operations(const Plan& plan, const ExplainRequest& request,
                                                  std::vector<ExplainedLayer>& layers);

}  // namespace sheaf
