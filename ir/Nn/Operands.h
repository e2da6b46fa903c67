// An nn op as a step of a plan has it: the roles of its operands, its attributes and, if it is a library operation, its row in
// runtime/ops.
#pragma once

#include "ir/Shapes.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/plan.h"

namespace sheaf::nn {

/// The library operation with this op's name; none if there isn't one.
std::optional<Op> library_op(mlir::Operation& op);

/// Over how many dimensions of an image a library op's windows move; none if it has no windows.
std::optional<int64_t> spatial_dims(mlir::Operation& op);

/// The roles of an op's operands, as docs/steps.md names them; "x", "x1", … if it has no better names.
std::vector<std::string> operand_roles(mlir::Operation& op);

/// An op's attributes as JSON, without those of passes (`nn.reason`) and of MLIR itself.
Json attributes_of(mlir::Operation& op);

/// Appends the shapes of a library op's results, by its rule in runtime/ops. Emits that rule's error.
llvm::LogicalResult library_shapes(mlir::Operation* op, llvm::ArrayRef<ir::TensorShape> operands,
                                   llvm::SmallVectorImpl<ir::TensorShape>& results);

}  // namespace sheaf::nn
