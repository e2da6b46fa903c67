// The kernel that a step runs.
#pragma once

#include "runtime/plan/plan.h"

#include <algorithm>

namespace sheaf {

/// The plan's kernel of this name (Step::kernel); null where there is none, as of a step that runs none.
inline const Kernel* find_kernel(const Plan& plan, const std::string& name) {
  const auto found =
      std::find_if(plan.kernels.begin(), plan.kernels.end(), [&](const Kernel& kernel) { return kernel.name == name; });
  return found == plan.kernels.end() ? nullptr : &*found;
}

}  // namespace sheaf
