// Kernels that can read an operand in a narrower type than the program's.
#pragma once

#include "runtime/plan/plan.h"

#include <optional>

namespace sheaf {

/// A kernel step's operand that libraries may make narrower than its value, and the kernel that reads it so (the attribute `narrow`,
/// docs/steps.md). Everything else is as the step says.
struct NarrowRead {
  size_t input = 0;
  DType dtype = DType::bfloat16;
  std::string kernel;
};

/// Empty if the step has no such attribute, or, before the plan has been checked, a wrong one.
std::optional<NarrowRead> narrow_read(const Step& step);
Json to_json(const NarrowRead& narrow);

/// The step with the other kernel. The narrow operand's memory holds no result of another size.
Step narrowed(const Step& step, const NarrowRead& narrow);

}  // namespace sheaf
