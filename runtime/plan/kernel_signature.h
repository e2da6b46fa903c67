// What a generated kernel may assume of the steps that run it.
#pragma once

#include "runtime/plan/plan.h"

#include <map>
#include <set>
#include <string>

namespace sheaf {

/// Dtypes and shapes of a kernel step's operands in the program's symbols, and its attributes (extents, range, what may
/// share memory): "float32[batch, 5], float32[5] -> float32[batch, 5] {…}". It covers everything that decides which elements
/// its code touches. The step's operands must be values of the program.
std::string kernel_signature(const Program& program, const Step& step);

/// The signatures of all steps that run each kernel, by kernel.
using KernelSignatures = std::map<std::string, std::set<std::string>>;
KernelSignatures kernel_signatures(const Plan& plan);

}  // namespace sheaf
