// Where collectives stand among a program's steps.
#pragma once

#include "runtime/plan/plan.h"

namespace sheaf::codegen {

/// What lives whole on each replica for a while only, lives no longer than it must: each all_gather goes right in front of the first step
/// that reads what it gathers, and each reduce_scatter right behind the step that makes what it adds up. The other steps keep their
/// order.
void place_collectives(Program& program);

}  // namespace sheaf::codegen
