// How far the results of one operation may be off, derived from what it does with its operands.
#pragma once

#include "tools/verify/step_runner.h"

namespace sheaf {

/// A step on one set of operands.
struct StepRun {
  const Plan& plan;
  const Program& program;
  int step;
  const Sizes& sizes;
  int replica;                            ///< whose sizes, or Sizes::kWhole
  std::vector<const HostTensor*> inputs;  ///< in the order of BoundStep::inputs()
  const std::vector<HostTensor>& results;
};

/// By output of the step: by how much an element of it may differ between two ways to compute it from these operands (another
/// order of summation, other blocks). `bound` is the step with these sizes. `fast`: one way may have fast numerics.
/// Errors: as StepRunner::bind and BoundStep::run.
Result<std::vector<double>> tolerances_of(const StepRunner& runner, BoundStep& bound, const StepRun& run, bool fast);

}  // namespace sheaf
