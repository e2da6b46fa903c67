// A trace's description of a binding's operations.
#pragma once

#include "runtime/bind/binding.h"
#include "runtime/cost/description.h"
#include "runtime/trace/recording.h"

namespace sheaf {

/// `program`, one of `plan`'s, as `executor` runs it. `described`: what the devices can do.
TracedProgram traced_program(const Plan& plan, const Program& program, int64_t batch, const DeviceSet& devices,
                             const BindingInfo& info, Executor& executor, const DeviceDescriptions& described);

}  // namespace sheaf
