// Exact shapes of all values of a program, from which the plan's sizes are written.
#pragma once

#include "ir/Shapes.h"
#include "runtime/plan/plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::ir {

/// Computes every value's shape in terms of the program's symbols, starting with the function's arguments: a `?` of an argument
/// is `batch` unless `nn.extents` says otherwise; `nn.lengths` lists the symbols that don't count rows. Works on nn programs
/// (nn.data_parallel) and on dist programs (scatter, gather, apply, parallel_apply) alike. If a size cannot be expressed, or
/// shapes don't fit, it emits an error at the op.
class ShapeAnalysis {
 public:
  /// With `refine_types`, results and body arguments get the types of their shapes, and lengths the largest numbers that the
  /// program has room for (shape inference).
  explicit ShapeAnalysis(bool refine_types = false) : refine_types_(refine_types) {}

  llvm::LogicalResult run(mlir::func::FuncOp function);

  /// Valid until the next value gets its shape.
  const TensorShape& of(mlir::Value value) const { return shapes_.find(value)->second; }
  /// What an nn.inverse_count with `whole` counts: the elements of all replicas of its region.
  const Extent& whole_count(mlir::Value inverse) const { return whole_counts_.find(inverse)->second; }
  /// batch, the lengths, then the chunk and replica symbols in the order in which they were needed.
  const std::vector<sheaf::Symbol>& symbols() const { return symbols_; }
  /// Whether the symbol of this name is a length.
  bool is_length(const std::string& name) const { return symbol_named(name).kind == sheaf::Symbol::length; }

 private:
  llvm::LogicalResult visit_block(mlir::Block& block);
  llvm::LogicalResult visit(mlir::Operation& op);
  llvm::LogicalResult visit_movement(mlir::Operation& op);
  llvm::LogicalResult visit_data_parallel(mlir::Operation& op);
  llvm::LogicalResult visit_apply(mlir::Operation& op);

  /// The shape of one replica's chunk of `whole` along `dim`.
  TensorShape chunk(const TensorShape& whole, int64_t dim, int region);
  /// The shape of the replicas' values concatenated along `dim` (a vector of them for scalars).
  llvm::FailureOr<TensorShape> gathered(mlir::Operation& op, const TensorShape& local, int64_t dim, int region);
  std::string symbol_for(sheaf::Symbol::Kind kind, int region, const Extent& of);
  int region_of_group(mlir::Operation& op, llvm::StringRef group);
  const sheaf::Symbol& symbol_named(const std::string& name) const;
  /// Whether a size is open, but depends only on lengths.
  bool lacks_rows(const Extent& size) const;
  /// If `op` slices a fixed size to a length, notes that size as the largest number that the length can be.
  void note_largest(mlir::Operation& op);
  llvm::LogicalResult note_whole_count(mlir::Operation& op);
  void set(mlir::Value value, TensorShape shape);

  bool refine_types_;
  int data_parallel_regions_ = 0;
  std::vector<sheaf::Symbol> symbols_;
  llvm::DenseMap<mlir::Value, TensorShape> shapes_;
  llvm::DenseMap<mlir::Value, Extent> whole_counts_;
};

/// The position of a group among its module's groups: its index in Plan::regions.
int group_index(mlir::Operation* from, llvm::StringRef group);

}  // namespace sheaf::ir
