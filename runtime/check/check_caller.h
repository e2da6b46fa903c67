// How `forward` and `backward`, the programs for callers that own the parameters, must match (internal to runtime/check).
#pragma once

#include "runtime/plan/plan.h"

#include <string>

namespace sheaf {

/// Either both or neither exist. They take the same inputs and settings; only `backward` has targets. The outputs of `forward`
/// are the first outputs of `backward`, which need no target. Nothing is updated. Both programs have been checked.
Result<void> check_caller(const Plan& plan, const std::string& file);

}  // namespace sheaf
