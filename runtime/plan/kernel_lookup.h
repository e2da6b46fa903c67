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

/// Whether one launch on a GPU can do the kernel's work for many steps: the plan's text for GPUs then has an entry K_many beside K
/// (docs/cuda.md).
inline bool launches_many(const Kernel& kernel) { return kernel.gpu_block > 0 && kernel.elementwise && kernel.extents == 0; }

}  // namespace sheaf
