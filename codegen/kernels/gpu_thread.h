// What one thread of a GPU does in a kernel.
#pragma once

#include "codegen/kernels/gpu_lanes.h"
#include "codegen/kernels/gpu_vector_body.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace sheaf::kernels {

/// The value of a 32-bit register, as an index.
template <typename Register>
mlir::Value register_number(mlir::OpBuilder& builder, mlir::Location loc) {
  mlir::Value narrow = builder.create<Register>(loc, builder.getI32Type());
  return builder.create<mlir::arith::IndexCastUIOp>(loc, builder.getIndexType(), narrow);
}

/// Whether iterations of a parallel loop are short enough, `most` simple operations, for a thread to do several at a time.
/// Longer ones have enough to do while they wait for memory.
bool can_go_abreast(mlir::Block& body, int most);

/// Emits a thread's code. The kernel's one outermost scf.parallel, over its range, becomes a loop over a grid's blocks. An
/// item's lanes share the loops and reductions directly within it (or within sequential loops, which all lanes execute); deeper
/// loops run within each thread. Work done once for an item is computed by all of its lanes and stored by one.
class ThreadBody {
 public:
  /// `vectors`: the vectors of the kernel's loop, if it has any. `map`: the counterparts in `function` of the kernel's
  /// arguments, except for its range.
  ThreadBody(mlir::OpBuilder& builder, mlir::func::FuncOp function, const GpuSchedule& schedule, const Vectors* vectors,
             mlir::IRMapping map);

  /// Emits all of [0, work); `loop` is the kernel's.
  void range(mlir::scf::ParallelOp loop, mlir::Value work);
  /// The code before and after that loop: every thread computes it, since it runs once per kernel.
  void around(mlir::Operation& op);

 private:
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mapped(mlir::Value value) { return map_.lookupOrDefault(value); }

  /// `shared`: the block's loops are yet to be shared by the lanes.
  void block(mlir::Block& from, bool shared);
  void parallel(mlir::scf::ParallelOp op, bool shared);
  void nested(mlir::Operation& op, bool shared);
  void for_the_item(mlir::Operation& op);
  mlir::Value combined(mlir::Region& combination, mlir::Value x, mlir::Value y);
  llvm::SmallVector<mlir::Value> combined(mlir::scf::ReduceOp reduce, mlir::ValueRange xs, mlir::ValueRange ys);
  void range_by_several(mlir::scf::ParallelOp loop, mlir::Value work, mlir::Value first, mlir::Value step);
  void range_by_vectors(mlir::scf::ParallelOp loop, mlir::Value work, mlir::Value first, mlir::Value step);
  void columns_by_vectors(mlir::scf::ParallelOp loop, mlir::Value work, mlir::Value first, mlir::Value step);
  /// A loop within an item, by vectors; `each` maps the values from outside the loop, then also its results.
  void loop_by_vectors(mlir::scf::ParallelOp op, Each& each);
  mlir::Value vectors_together(mlir::scf::ParallelOp op, mlir::Value low, mlir::Value high, int count, const Each& outside,
                               llvm::SmallVector<mlir::Value>& sums);
  mlir::Value several_at_a_time(mlir::scf::ParallelOp op, mlir::Value low, mlir::Value high,
                                llvm::SmallVector<mlir::Value>& sums);
  /// The body of a parallel loop for several iterations, operation by operation, loads before stores. Returns the mapping of
  /// its values for each iteration.
  llvm::SmallVector<mlir::IRMapping> abreast(mlir::Block& from, mlir::ValueRange indices);
  int64_t iterations(mlir::scf::ParallelOp op) const;
  int64_t stride() const;
  void neighbours(Each& each, mlir::Value index, mlir::Value at);

  static constexpr int abreast_ = 4;

  mlir::OpBuilder& b_;
  mlir::Location loc_;
  const GpuSchedule schedule_;
  const Vectors* const vectors_;
  mlir::IRMapping map_;
  Lanes lanes_;
  mlir::Value exists_;  ///< with columns: whether this thread's item is within the range
};

}  // namespace sheaf::kernels
