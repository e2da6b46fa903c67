// What `forward` and `backward`, the programs of callers who hold parameters, are to each other (internal to runtime/check).
#pragma once

#include "runtime/plan/plan.h"

#include <string>

namespace sheaf {

/// Both or neither are there. They take the same inputs, and settings besides; targets are `backward`'s alone. What `forward` gives
/// are the first outputs of `backward`, which need no target. Nothing is updated. Both programs have been checked.
Result<void> check_caller(const Plan& plan, const std::string& file);

}  // namespace sheaf
