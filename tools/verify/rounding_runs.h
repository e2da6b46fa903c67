// How far rounding carries from one end of a program to the other.
#pragma once

#include "tools/verify/observed_program.h"

namespace sheaf {

/// A run's inputs, and the values to look at.
struct RunRequest {
  const NamedTensors& variables;      ///< parameters, buffers, state
  const NamedTensors& given;          ///< inputs, targets, settings
  std::set<int> wanted;               ///< values of the program
  std::map<int, HostTensor> imposed;  ///< values that these replace after the run's own were looked at
};

/// What a run gave, or how far that was from another run's.
template <typename T>
struct RunResults {
  std::map<int, T> values;  ///< those wanted, as the run made them
  std::vector<T> outputs;
  std::map<std::string, T> updated;  ///< parameters, buffers and state after it
};

/// Runs the program once, one operation after another.
Result<RunResults<HostTensor>> run_observed(ObservedProgram& bound, const RunRequest& request);

/// By how much two right ways to compute the same program may differ at its end. Several runs move inputs and each operation's
/// result by many times a rounding, at random: the most that they are off by is what rounding of any kind (another order,
/// operations fused or not) may come to, through cancellation, divisions by next to nothing and comparisons that go the other
/// way. New variables themselves are not moved, so a small step shows beside them. `exact` is the run without any of this
/// (run_observed). `fast`: one of the ways may have fast numerics. Errors: as a run.
Result<RunResults<double>> measure_rounding(ObservedProgram& bound, const RunRequest& request,
                                            const RunResults<HostTensor>& exact, bool fast);

}  // namespace sheaf
