// The operation that a step is.
#pragma once

#include "runtime/ops/traits.h"
#include "runtime/plan/plan.h"

namespace sheaf {

/// By its name; `layer` where there is none of this name: a node of a logical program.
inline Op op_of(const Step& step) { return op_from_name(step.op).value_or(Op::layer); }
/// Whether the step carries a value from one place to another. In a logical program a layer's type may be called as what
/// binding adds ("broadcast").
inline bool moves(const Step& step) {
  const OpTraits& row = traits(op_of(step));
  return row.source == Source::program && row.movement.route != Route::none;
}

}  // namespace sheaf
