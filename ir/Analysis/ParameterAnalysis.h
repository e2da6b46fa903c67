// Which values depend only on parameters and buffers, and so need computing only when weights are set.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace sheaf::ir {

/// The answers so far. Each is valid while its value exists.
using KnownValues = llvm::DenseMap<mlir::Value, bool>;

/// Whether `value` (in a dist program, or in the body of an apply) is a parameter, a buffer, or computed from such values by
/// ops without side effects. Queries in the program's order that share one `known` take, in total, time linear in the program's
/// length.
bool depends_on_parameters_alone(mlir::Value value, KnownValues& known);

}  // namespace sheaf::ir
