// Values of a forward pass, as the backward pass sees them: kept, or computed once more.
#pragma once

#include "ir/Analysis/ParameterAnalysis.h"
#include "passes/dist/Apply.h"

namespace sheaf::passes {

/// The forward values that the dual of one apply or parallel_apply needs. Values from outside a checkpoint (ir/Nn/Checkpoint.h)
/// are kept: they become arguments of the dual's body. Values computed inside a checkpoint are computed once more where the
/// backward pass first needs them, from the kept ones: all ops of the checkpoint they depend on, cloned in their order. A
/// checkpoint within another is recomputed from the outer one's clones.
class ForwardValues {
 public:
  /// Clones go to `builder`'s position, arguments to `body`, which contains it. `parameters_alone`: see
  /// ir/Analysis/ParameterAnalysis.h; values for which it is true are kept, as weights in another precision are.
  ForwardValues(mlir::OpBuilder& builder, mlir::Block* body, const ir::KnownValues& parameters_alone)
      : builder_(builder), body_(body), parameters_alone_(parameters_alone) {}

  /// `value`, an operand or result of the forward op `user`, for user's dual.
  mlir::Value get(mlir::Value value, mlir::Operation* user);

  /// To be called once the kept values are results of the forward op: an op that is computed twice is fused with others only if
  /// it would be without checkpoints, so that the bits are the same both times, and the same as without.
  void mark_computed_twice();

  /// By argument of the dual's body: its value in the forward body.
  llvm::ArrayRef<std::pair<unsigned, mlir::Value>> kept() const { return kept_; }

 private:
  using Checkpoints = llvm::ArrayRef<mlir::Attribute>;

  mlir::Value keep(mlir::Value value);
  /// `value` for work inside `around`; null if ops of the checkpoint `around.back()` are yet to compute it.
  mlir::Value known(mlir::Value value, Checkpoints around);
  mlir::Value get(mlir::Value value, Checkpoints around);
  void make(mlir::Operation* op, Checkpoints around);

  mlir::OpBuilder& builder_;
  mlir::Block* body_;
  const ir::KnownValues& parameters_alone_;
  llvm::SmallVector<std::pair<unsigned, mlir::Value>> kept_;
  llvm::SmallPtrSet<mlir::Operation*, 16> wanted_;  ///< in checkpoints, the ones whose results a dual takes
  llvm::SmallVector<std::pair<mlir::Operation*, mlir::Operation*>> twice_;                ///< forward op, its clone
  llvm::DenseMap<mlir::Value, mlir::Value> arguments_;                                    ///< by value that is kept
  llvm::DenseMap<mlir::Attribute, llvm::DenseMap<mlir::Value, mlir::Value>> recomputed_;  ///< by checkpoint, then by value
};

}  // namespace sheaf::passes
