// The kernel that a step runs.
#pragma once

#include "runtime/plan/plan.h"

#include <algorithm>

namespace sheaf {

/// The plan's kernel of this name (Step::kernel); null if there is none, as for a step that runs none.
inline const Kernel* find_kernel(const Plan& plan, const std::string& name) {
  const auto found =
      std::find_if(plan.kernels.begin(), plan.kernels.end(), [&](const Kernel& kernel) { return kernel.name == name; });
  return found == plan.kernels.end() ? nullptr : &*found;
}

/// The plan's text for GPUs (docs/cuda.md); null: it has none.
inline const std::string* find_ptx(const Plan& plan) {
  const auto found =
      std::find_if(plan.objects.begin(), plan.objects.end(), [](const auto& object) { return object.first == kPtxObject; });
  return found == plan.objects.end() ? nullptr : &found->second;
}

/// Whether one launch does the kernel's work for many steps (its entry K_many).
inline bool launches_many(const Plan& plan, const Kernel& kernel) {
  const std::string* ptx = find_ptx(plan);
  return ptx && kernel.extents == 0 && ptx->find(".entry " + kernel.name + "_many(") != std::string::npos;
}

}  // namespace sheaf
