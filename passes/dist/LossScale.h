// Loss scaling in the graph (docs/precision.md): gradients of a scaled loss, and steps that are skipped if they overflow.
#pragma once

#include "passes/dist/Moves.h"

namespace sheaf::passes {

/// The gradient that a backward pass begins with at `loss`: 1, or the scale of a function with `nn.loss_scale`.
mlir::Value seed_of_loss(mlir::OpBuilder& builder, mlir::func::FuncOp function, mlir::Value loss);

/// What dist-optimize adds to a function with `nn.loss_scale`, at `builder`'s position.
class LossScaling {
 public:
  /// The scale lives where `loss` does. All arguments must outlive this object.
  LossScaling(mlir::func::FuncOp function, mlir::OpBuilder& builder, Moves& moves, mlir::Value loss);

  /// Counts the elements that aren't finite, and divides all by the scale.
  void unscale(llvm::MutableArrayRef<mlir::Value> gradients);
  /// How many elements weren't finite, on `place`.
  mlir::Value nonfinite(mlir::Attribute place);
  /// The number of this update on `place`, from 1: skipped steps don't count. 0-dimensional int64.
  mlir::Value step(mlir::Attribute place);
  /// The states' names and new values.
  void finish(llvm::SmallVectorImpl<mlir::Attribute>& names, llvm::SmallVectorImpl<mlir::Value>& values);

 private:
  bool adapts() const;
  mlir::Value inverse(mlir::Attribute place);
  mlir::Value count(llvm::ArrayRef<mlir::Value> gradients);

  mlir::func::FuncOp function_;
  mlir::OpBuilder& builder_;
  Moves& moves_;
  mlir::DictionaryAttr arguments_;
  mlir::Attribute home_;
  mlir::Value scale_, tracker_, steps_;  ///< states; the first two only if the scale adapts
  mlir::Value nonfinite_;
  llvm::DenseMap<mlir::Attribute, mlir::Value> inverses_, numbers_;
};

}  // namespace sheaf::passes
