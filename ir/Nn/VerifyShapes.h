// The verifier that all nn ops share.
#pragma once

#include "mlir/IR/Operation.h"

namespace sheaf::ir {

/// The verifier of ShapeOpInterface: result types must be those the shape function gives.
llvm::LogicalResult verifyShapes(mlir::Operation* op);

}  // namespace sheaf::ir
