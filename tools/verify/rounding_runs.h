// How far rounding carries from one end of a program to the other.
#pragma once

#include "tools/verify/observed_program.h"

namespace sheaf {

/// A run's inputs, and the values to look at.
struct RunRequest {
  const NamedTensors& variables;      ///< parameters, buffers, state
  const NamedTensors& given;          ///< inputs, targets, settings
  std::set<int> wanted;               ///< values of the program
  std::map<int, HostTensor> imposed;  ///< values that replace these after the run's own were captured
};

/// The results of a run, or their distance from another run's.
template <typename T>
struct RunResults {
  std::map<int, T> values;  ///< the requested values, as the run made them
  std::vector<T> outputs;
  std::map<std::string, T> updated;  ///< parameters, buffers and state after it
};

/// Runs the program once, one operation after another.
Result<RunResults<HostTensor>> run_observed(ObservedProgram& bound, const RunRequest& request);

/// How far two correct computations of the same program may differ at its end. Several runs move inputs and each operation's
/// result by many times a rounding, at random: the largest deviation bounds what rounding of any kind (another order,
/// operations fused or not) may amount to, through cancellation, divisions by almost nothing and comparisons that go the other
/// way. New variables themselves are not moved, so a small step is visible beside them. `exact` is the run without any of this
/// (run_observed). `fast`: one of the computations may have fast numerics. Errors: as a run.
Result<RunResults<double>> measure_rounding(ObservedProgram& bound, const RunRequest& request,
                                            const RunResults<HostTensor>& exact, bool fast);

}  // namespace sheaf
