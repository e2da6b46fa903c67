// What the memory of a program's values is for.
#pragma once

#include "runtime/plan/plan.h"

#include <set>

namespace sheaf::codegen {

/// Says of the results of all steps what they are for, but for gradients, of which that has been said. `accumulators` are the
/// states that micro-batches add up.
void add_purposes(Program& program, const std::set<std::string>& accumulators);

}  // namespace sheaf::codegen
