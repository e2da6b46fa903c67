// The element-wise ops of a fused group as arithmetic of a kernel.
#pragma once

#include "codegen/kernels/spec.h"
#include "ir/Nn/Nn.h"
#include "ir/Analysis/ShapeAnalysis.h"

namespace sheaf::codegen {

/// Dtype and shape as kernel specs take them.
kernels::Operand operand_of(const ir::TensorShape& shape);

/// The symbol for the start of the chunk whose size is `chunk`: first0 for rows0.
sheaf::Symbol offset_symbol(const sheaf::Symbol& chunk);

/// Element-wise ops of a fused group, in order, as a kernel's scalar body. Each tensor they read is an operand with the shape
/// that aligns it with the result; a tensor aligned in two ways is two operands. `element` is the value that the kernel passes
/// itself, as the first scalar; null if it passes none. Coordinates come last, then sizes.
class ElementChain {
 public:
  ElementChain(mlir::Value element, const ir::TensorShape& shape) : element_(element), shape_(shape) {}

  void add(mlir::Operation& op, const ir::ShapeAnalysis& shapes);

  bool empty() const { return ops_.empty(); }
  /// The tensors read and the shapes that align them with the result.
  const std::vector<std::pair<mlir::BlockArgument, kernels::Shape>>& inputs() const { return inputs_; }
  /// For each dimension of the result, the offset added to an element's index: the start of a replica's chunk. Empty if no op
  /// asks for its position.
  std::vector<Extent> coordinates(const ir::ShapeAnalysis& shapes) const;
  /// The result's sizes. Empty if no op asks for them.
  std::vector<Extent> sizes() const;
  std::string name() const;
  kernels::ScalarBody body(llvm::SmallVector<mlir::Value> outputs) const;
  /// The chain as a kernel takes it, with its tensors appended to `operands`.
  kernels::Fusion fusion(mlir::Value output, const ir::ShapeAnalysis& shapes, std::vector<mlir::Value>& operands) const;

 private:
  size_t index(mlir::BlockArgument argument, const kernels::Shape& aligned);

  mlir::Value element_;
  ir::TensorShape shape_;
  bool located_ = false, sized_ = false;  ///< an op wants coordinates; the sizes too
  llvm::SmallVector<mlir::Operation*> ops_;
  std::vector<std::pair<mlir::BlockArgument, kernels::Shape>> inputs_;
  llvm::DenseMap<mlir::OpOperand*, size_t> index_of_;
};

}  // namespace sheaf::codegen
