// Which values are gradients of parameters, or parts of such gradients.
#pragma once

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

namespace sheaf::ir {

/// The values that a dist program's updates read from the backward pass, and the values of the backward pass from which those
/// were added up, cast or moved. Empty for a program without updates.
llvm::DenseSet<mlir::Value> parameter_gradients(mlir::Operation* function);

}  // namespace sheaf::ir
