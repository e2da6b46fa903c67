// Values of a forward pass, as the backward pass sees them: kept, or computed once more.
#pragma once

#include "ir/Analysis/ParameterAnalysis.h"
#include "passes/dist/Apply.h"

namespace sheaf::passes {

/// What the dual of one apply or parallel_apply needs of the forward body. What stems from outside of a checkpoint (ir/Nn/Checkpoint.h)
/// is kept: it becomes an argument of the dual's body. What a checkpoint made is computed once more where the backward pass first
/// needs it, from what was kept: all ops of the checkpoint that it takes, cloned in their order. A checkpoint within another one is
/// computed anew from what the outer one's clones give.
class ForwardValues {
 public:
  /// Clones go to `builder`'s position, arguments to `body`, which holds it. `parameters_alone`: see ir/Analysis/ParameterAnalysis.h; what
  /// it says true of is kept, as weights in another precision are.
  ForwardValues(mlir::OpBuilder& builder, mlir::Block* body, const ir::KnownValues& parameters_alone)
      : builder_(builder), body_(body), parameters_alone_(parameters_alone) {}

  /// `value`, an operand or result of the forward op `user`, for user's dual.
  mlir::Value get(mlir::Value value, mlir::Operation* user);

  /// Once the values that are kept are results of the forward op: what is computed twice is fused with others only where it would
  /// be without checkpoints, so that the bits are the same both times, and the same as without.
  void mark_computed_twice();

  /// By argument of the dual's body: the value of the forward body that it is.
  llvm::ArrayRef<std::pair<unsigned, mlir::Value>> kept() const { return kept_; }

 private:
  using Checkpoints = llvm::ArrayRef<mlir::Attribute>;

  mlir::Value keep(mlir::Value value);
  /// `value` for what is done inside `around`; null if it is yet to be made by ops of the checkpoint `around.back()`.
  mlir::Value known(mlir::Value value, Checkpoints around);
  mlir::Value get(mlir::Value value, Checkpoints around);
  void make(mlir::Operation* op, Checkpoints around);

  mlir::OpBuilder& builder_;
  mlir::Block* body_;
  const ir::KnownValues& parameters_alone_;
  llvm::SmallVector<std::pair<unsigned, mlir::Value>> kept_;
  llvm::SmallPtrSet<mlir::Operation*, 16> wanted_;  ///< in checkpoints, by what a dual takes of their results
  llvm::SmallVector<std::pair<mlir::Operation*, mlir::Operation*>> twice_;                ///< forward op, its clone
  llvm::DenseMap<mlir::Value, mlir::Value> arguments_;                                    ///< by value that is kept
  llvm::DenseMap<mlir::Attribute, llvm::DenseMap<mlir::Value, mlir::Value>> recomputed_;  ///< by checkpoint, then by value
};

}  // namespace sheaf::passes
