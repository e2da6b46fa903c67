// Implementations chosen by measurement: which candidates of a program's operations make its step the shortest, reorders
// between them included (docs/cpu-choices.md).
#pragma once

#include "runtime/bind/planned_binding.h"
#include "sheaf/tune.h"

namespace sheaf {

struct TunedBinding {
  PlannedBinding binding;
  std::string choices;  ///< a digest of what was chosen; empty with Tune::off
};

/// plan_binding() with the choices in the user's cache, measuring the operations that it doesn't know. Reasons of
/// operations say what was measured. An unusable cache is reported on stderr, once a process. Errors: those of plan_binding();
/// devices that are absent or belong to several processes; a device's, or too little memory, while measuring.
Result<TunedBinding> plan_tuned(const BindContext& context, Tune tune);

}  // namespace sheaf
