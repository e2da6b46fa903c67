#pragma once

#include "runtime/plan/plan.h"

#include <string>

namespace sheaf {

/// Checks one program of a plan whose regions, parameters and kernels have been checked. `path` is its
/// position ("programs.infer"). A `graph` has layers for steps: their own attributes and operand roles are
/// PyTorch's, so only structure, places and data movement are checked.
Result<void> check_program(const Plan& plan, const Program& program, bool graph, const std::string& file,
                           const std::string& path);

}  // namespace sheaf
