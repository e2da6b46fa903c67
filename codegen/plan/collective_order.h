// The position of collectives among a program's steps.
#pragma once

#include "runtime/plan/plan.h"

namespace sheaf::codegen {

/// Values that are whole on each replica only for a while live no longer than they must: each all_gather moves directly before
/// the first reader of its result, and each reduce_scatter directly after the step that makes its operand. The other steps keep
/// their order.
void place_collectives(Program& program);

}  // namespace sheaf::codegen
