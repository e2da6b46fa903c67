// Which values depend on parameters and buffers alone, and so need computing only when weights are set.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace sheaf::ir {

/// Answers so far. They hold while the values that they are of do.
using KnownValues = llvm::DenseMap<mlir::Value, bool>;

/// Whether `value` (in a dist program, or in the body of an apply) is a parameter, a buffer, or made from such
/// values by ops without side effects. Asked in the program's order with one `known`, the whole costs as much as the program is long.
bool depends_on_parameters_alone(mlir::Value value, KnownValues& known);

}  // namespace sheaf::ir
