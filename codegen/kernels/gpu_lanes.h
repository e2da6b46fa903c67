// What the threads of a GPU that work on one item of a kernel's range do together.
#pragma once

#include "codegen/kernels/emitter.h"

#include "mlir/IR/BuiltinOps.h"

namespace sheaf::kernels {

/// Combines values of an item's lanes in a fixed order. Every lane gets the result, with the same bits. All lanes of an item
/// call it together; if an item has more than one warp, all threads of the block do.
class Lanes {
 public:
  /// `thread`: the calling thread's index in its block. Shared memory is declared next to `function`.
  Lanes(mlir::OpBuilder& builder, mlir::func::FuncOp function, const GpuSchedule& schedule, mlir::Value thread);

  mlir::Value lane() const { return lane_; }
  /// The item of the block that this thread works on.
  mlir::Value item() const { return item_; }

  using Combination = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
  mlir::Value combine(mlir::Value value, Combination combination);
  /// The same for the values of neighbouring columns that together are an item.
  void combine(llvm::MutableArrayRef<mlir::Value> values, Combination combination);

 private:
  mlir::Value i32(int64_t value);
  mlir::Value constant(int64_t value);
  mlir::Value exchange(mlir::Value value, int distance);
  mlir::Value within_warp(mlir::Value value, int lanes, Combination combination);
  mlir::Value among_warps(mlir::Value value, Combination combination);
  void among_rows(llvm::MutableArrayRef<mlir::Value> values, Combination combination);
  mlir::Value shared(mlir::Type element, int64_t count);
  void barrier();
  void only_where(mlir::Value condition, llvm::function_ref<void()> body);

  mlir::OpBuilder& builder_;
  mlir::func::FuncOp function_;
  mlir::Location loc_;
  const GpuSchedule schedule_;
  mlir::Value thread_, lane_, item_;
  mlir::Value members_;  ///< the mask of those in this thread's warp that work on its item
};

}  // namespace sheaf::kernels
