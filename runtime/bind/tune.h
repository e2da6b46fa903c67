// Implementations chosen by measurement: which candidates of a program's operations make its step the shortest, reorders between
// them included (docs/cpu-choices.md).
#pragma once

#include "runtime/bind/planned_binding.h"
#include "sheaf/tune.h"

namespace sheaf {

struct TunedBinding {
  PlannedBinding binding;
  std::string choices;  ///< a digest of what was chosen; empty with Tune::off
};

/// plan_binding() with what the user's cache says, and with what is measured now of operations that it doesn't know. Reasons of
/// operations say what was measured. A cache that can't be used is told to stderr, once a process. Errors: those of plan_binding();
/// devices that aren't there or belong to several processes; a device's, or too little memory, while measuring.
Result<TunedBinding> plan_tuned(const BindContext& context, Tune tune);

}  // namespace sheaf
