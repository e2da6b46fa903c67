// What the replicas' tensors of a value are to the value of the unpartitioned program.
#pragma once

#include "ir/Analysis/ShapeAnalysis.h"
#include "runtime/plan/plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::codegen {

/// The layouts (Value::layout) of a dist function's values. Those that cross the border of a region have theirs in
/// their type; inside, each op's split rule says what becomes of its operands'. Where neither says anything a value is
/// `local`, which claims nothing.
class LayoutAnalysis {
 public:
  /// `shapes` are those of `function`, and must stay valid until the analysis has been made.
  LayoutAnalysis(mlir::func::FuncOp function, const ir::ShapeAnalysis& shapes);

  /// `whole` for a value outside of regions.
  ValueLayout of(mlir::Value value) const;

 private:
  void visit_region(mlir::Operation& apply, int region);
  void visit(mlir::Operation& op, int region);
  /// The op computes something else from a replica's rows than the same part of what it computes from all.
  bool mixes(mlir::Operation& op, int region);
  bool mixes_fused(mlir::Operation& fused, int region);
  /// The dimension that differs between the replicas of `region`; nothing where none, several or not all of it does.
  std::optional<int64_t> cut(mlir::Value value, int region) const;
  /// A sum over the replicas is asked for: so is one of what it is a sum of.
  void make_partial(mlir::Value value);
  /// A body's arguments are the op's operands.
  void enter(mlir::Operation& op);

  const ir::ShapeAnalysis& shapes_;
  llvm::DenseMap<mlir::Value, ValueLayout> layouts_;
};

}  // namespace sheaf::codegen
