// What a step of each strategy sends, when it may, and what a device then keeps (docs/strategies.md).
#pragma once

#include "runtime/plan/strategy.h"
#include "tools/estimate/lane_simulation.h"
#include "tools/estimate/training_step.h"

namespace sheaf {

struct StrategyEstimate {
  Strategy strategy{};
  double peak_bytes = 0;                            ///< of the fullest device: lasting data, and its arena
  double parameter_bytes = 0, optimizer_bytes = 0;  ///< of what lasts
  size_t collectives = 0;                           ///< in a step
  double sent_bytes = 0;                            ///< of the device that sends most
  double communication_seconds = 0;                 ///< of all collectives, one after another
  double exposed_seconds = 0;                       ///< by which they lengthen the step
  double step_seconds = 0;
  double efficiency = 0;  ///< step without any communication / step
};

/// What a device keeps besides the arena, for one process with one device.
struct StepMemory {
  double lasting = 0, parameters = 0, optimizer = 0;  ///< `lasting` includes the others
  double arena_gaps = 0;                              ///< of the arena, beyond what is live at its fullest
};

/// `devices`: the cluster's, all of them working.
StrategyEstimate price_strategy(Strategy strategy, const TrainingStep& step, const StepMemory& memory, int devices,
                                const Collectives& collectives);

}  // namespace sheaf
