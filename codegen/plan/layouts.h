// How the replicas' tensors of a value relate to the value of the unpartitioned program.
#pragma once

#include "ir/Analysis/ShapeAnalysis.h"
#include "runtime/plan/plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::codegen {

/// The layouts (Value::layout) of a dist function's values. Values that cross the border of a region have theirs in their type;
/// inside, each op's split rule derives its results' layouts from its operands'. If neither applies, a value is `local`, which
/// claims nothing.
class LayoutAnalysis {
 public:
  /// `shapes` belong to `function`, and must stay valid until the analysis has been made.
  LayoutAnalysis(mlir::func::FuncOp function, const ir::ShapeAnalysis& shapes);

  /// `whole` for a value outside of regions.
  ValueLayout of(mlir::Value value) const;

 private:
  void visit_region(mlir::Operation& apply, int region);
  void visit(mlir::Operation& op, int region);
  /// Whether the op computes, from a replica's rows, something other than the same part of its result for all rows.
  bool mixes(mlir::Operation& op, int region);
  bool mixes_fused(mlir::Operation& fused, int region);
  /// The dimension that differs between the replicas of `region`; nothing if none or several do, or only part of one.
  std::optional<int64_t> cut(mlir::Value value, int region) const;
  /// `value` is summed over the replicas, so each of its terms is too.
  void make_partial(mlir::Value value);
  /// Gives a body's arguments the layouts of the op's operands.
  void enter(mlir::Operation& op);

  const ir::ShapeAnalysis& shapes_;
  llvm::DenseMap<mlir::Value, ValueLayout> layouts_;
};

}  // namespace sheaf::codegen
