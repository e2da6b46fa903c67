// The dual of one dist.apply or dist.parallel_apply.
#pragma once

#include "ir/Analysis/ShapeAnalysis.h"
#include "passes/dist/ForwardValues.h"

namespace sheaf::passes {

/// Builds the dual of one apply or parallel_apply: a separate body that gets its arguments as they are needed.
class BodyGradient {
 public:
  /// `gradients`: by result of `apply`, null if there is none. `active`: values that depend on the variables of
  /// differentiation. `parameters_alone`: for ForwardValues. `shapes`: the forward program's, if it has lengths; else null.
  BodyGradient(mlir::Operation* apply, llvm::ArrayRef<mlir::Value> gradients, const llvm::DenseSet<mlir::Value>& active,
               const ir::KnownValues& parameters_alone, const ir::ShapeAnalysis* shapes);

  llvm::LogicalResult run();

  /// Puts the dual at `builder`'s position: first the further results that the forward body must yield, then the new op.
  /// Returns the gradients by operand of the forward op, null if there is none. `apply` may be replaced.
  llvm::SmallVector<mlir::Value> finish(mlir::OpBuilder& builder);

 private:
  mlir::Block& forward_body() { return apply_->getRegion(0).front(); }
  void accumulate(mlir::Value forward, mlir::Value gradient);
  llvm::LogicalResult visit(mlir::Operation& op);
  /// Forward values that the dual needs and that don't leave the body yet become results: the op is rebuilt.
  mlir::Operation* export_values();

  mlir::Operation* apply_;
  const llvm::DenseSet<mlir::Value>& active_;
  const ir::ShapeAnalysis* shapes_;
  mlir::OpBuilder builder_;
  mlir::Region region_;
  mlir::Block* body_;
  ForwardValues forward_;
  llvm::SmallVector<mlir::Value> inputs_;               ///< of the dual: gradients, followed by what forward_ keeps
  llvm::DenseMap<mlir::Value, mlir::Value> gradients_;  ///< by value of the forward body
};

}  // namespace sheaf::passes
