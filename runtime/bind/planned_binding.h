// A program bound to devices and a batch as far as possible without touching a device: operations chosen, formats,
// order, memory. bind() continues from here; estimate() stops here.
#pragma once

#include "runtime/bind/memory_plan.h"

namespace sheaf {

struct PlannedBinding {
  BoundProgram program;
  Schedule schedule;
  MemoryPlan memory;
};

/// Allocates no memory of a device and runs nothing. Errors: those of expand() and of the rewrites (runtime/bind/rewrites.h).
Result<PlannedBinding> plan_binding(const BindContext& context);

}  // namespace sheaf
