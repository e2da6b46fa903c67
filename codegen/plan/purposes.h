// The purpose of each value's memory.
#pragma once

#include "runtime/plan/plan.h"

#include <set>

namespace sheaf::codegen {

/// Sets the purpose of all steps' results, except for gradients, whose purpose is set already. `accumulators` are the states
/// that micro-batches add up.
void add_purposes(Program& program, const std::set<std::string>& accumulators);

}  // namespace sheaf::codegen
