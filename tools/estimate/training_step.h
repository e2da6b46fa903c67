// A training step of one device as a cluster's simulation sees it: how long each operation takes, what memory is live then,
// when each parameter is read and each gradient ready.
#pragma once

#include "tools/estimate/measures.h"

#include <string>
#include <vector>

namespace sheaf {

/// A parameter that the replicas of a region train, and where it is read.
struct StepParameter {
  std::string name;
  double bytes = 0;
  /// Operations (TrainingStep::seconds) that read it: first and last of the forward pass and of the backward pass; -1: none.
  int forward[2] = {-1, -1}, backward[2] = {-1, -1};
};

/// A gradient that is added up over the replicas.
struct StepGradient {
  double bytes = 0;
  int ready = -1;  ///< after this operation
};

struct TrainingStep {
  std::vector<double> seconds;  ///< by operation, in the order in which they end: since the one before
  std::vector<double> live;     ///< bytes of the device's arena while it runs
  double update_seconds = 0;    ///< of everything after all gradients: new parameters and state
  std::vector<StepParameter> parameters;
  std::vector<StepGradient> gradients;  ///< in the order in which they are ready
  double compute_seconds() const;       ///< of all
};

/// `estimate` is for `program`, bound to one device as `planned`. Errors: no region of it trains parameters, or there are no
/// times.
Result<TrainingStep> training_step(const Plan& plan, const Program& program, const PlannedProgram& planned,
                                   const DeviceSet& devices, const Estimate& estimate);

}  // namespace sheaf
