// Which steps of a program some of its outputs need.
#pragma once

#include "runtime/plan/plan.h"

#include <vector>

namespace sheaf {

/// By step: whether one of the first `outputs` outputs needs it. Indices must have been checked.
std::vector<bool> needed_steps(const Program& program, size_t outputs);

}  // namespace sheaf
