// The partitioned run, operation by operation, against the reference.
#pragma once

#include "runtime/bind/binding.h"
#include "tools/verify/reference.h"
#include "tools/verify/report.h"

namespace sheaf {

/// A run that is compared with a reference.
struct CheckedRun {
  const Plan& plan;
  const Program& program;
  const Reference& reference;
  const Sizes& sizes;
  const DeviceSet& devices;
  Binding& binding;  ///< bound to observe
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  double factor = 1;  ///< on tolerances
};

/// Runs the program one operation at a time. Each value that an operation makes is compared with the reference's, and then
/// replaced by it: so every operation is judged on the reference's operands, and the first one that is wrong is the culprit.
/// Differences go to `values`, by value of the program. Returns the first divergence, if any; the run stops there. Errors:
/// those of a run.
Result<std::optional<Divergence>> check_operations(const CheckedRun& run, std::vector<ValueDifference>& values);

/// The same without replacing anything: how far rounding errors carry. Finds no fault.
Result<void> measure_end_to_end(const CheckedRun& run, std::vector<ValueDifference>& values);

/// Names and layers of the program's values, nothing compared yet.
std::vector<ValueDifference> values_of(const Program& program);

}  // namespace sheaf
