// Which values are gradients of parameters, or parts of such gradients.
#pragma once

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

namespace sheaf::ir {

/// The values of a dist program that an update reads from the backward pass, and those they were added up, cast or moved from
/// there. None in a program without updates.
llvm::DenseSet<mlir::Value> parameter_gradients(mlir::Operation* function);

}  // namespace sheaf::ir
