// A program bound to devices and a batch as far as that goes without touching a device: operations chosen, formats,
// order, memory. bind() goes on from here; estimate() stops here.
#pragma once

#include "runtime/bind/memory_plan.h"

namespace sheaf {

struct PlannedBinding {
  Graph graph;
  MemoryPlan memory;
};

/// Allocates no memory of a device and runs nothing. Errors: an index beyond the device list (located at the layer),
/// inputs that split differently, an operation that cannot be prepared (as "replica i on device d: …").
Result<PlannedBinding> plan_binding(const BindContext& context);

}  // namespace sheaf
