// The data of a Trace (internal to runtime/trace).
#pragma once

#include "runtime/cost/description.h"
#include "runtime/machine/tick_clock.h"
#include "runtime/trace/recording.h"
#include "sheaf/trace.h"

#include <map>

namespace sheaf {

struct Trace::State {
  static constexpr int64_t kMostDataWaits = 100'000;

  TickScale scale;
  DeviceDescriptions devices = guessed_devices();
  size_t most_operations = kMostOperations;
  std::shared_ptr<const void> identity = std::make_shared<char>();
  std::vector<std::shared_ptr<Recording>> recordings;
  std::map<std::string, std::shared_ptr<int64_t>> counters;  ///< steps committed, by program
  std::vector<StepTimes> data_waits;                         ///< the last kMostDataWaits; `number`: the step they were for
  int64_t data_wait_count = 0;
};

}  // namespace sheaf
