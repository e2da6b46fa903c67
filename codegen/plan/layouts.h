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
  /// From a replica's rows the op computes something other than the same part of its result for all rows.
  bool mixes(mlir::Operation& op, int region);
  bool mixes_fused(mlir::Operation& fused, int region);
  /// The dimension that differs between the replicas of `region`; nothing if none, several or not all of it does.
  std::optional<int64_t> cut(mlir::Value value, int region) const;
  /// A sum over the replicas is requested: so is a sum of each of its terms.
  void make_partial(mlir::Value value);
  /// A body's arguments are the op's operands.
  void enter(mlir::Operation& op);

  const ir::ShapeAnalysis& shapes_;
  llvm::DenseMap<mlir::Value, ValueLayout> layouts_;
};

}  // namespace sheaf::codegen
