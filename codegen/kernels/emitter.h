// The building blocks of kernel bodies: a function over flat buffers, loops, reductions, loads and stores.
//
// The function's arguments are (buffers..., begin, end, extents...); extents are added when their sizes are first needed.
// Parallel loops and reductions are scf.parallel (which a schedule for another target can map to threads), sequential ones
// scf.for.
#pragma once

#include "codegen/kernels/gpu_schedule.h"
#include "codegen/kernels/loops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <map>

namespace sheaf::kernels {

enum class Combine { sum, maximum, bits };  ///< bits: the bitwise or of integers

/// The target a kernel's loops are laid out for. Its scalar arithmetic is the same for both.
enum class Target { cpu, gpu };

/// Numbers that are part of a kernel.
struct Table {
  std::string name;
  mlir::DenseElementsAttr values;
};

class Emitter {
 public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// `extents`: the ones another form of the kernel uses; this form's own follow them.
  explicit Emitter(mlir::MLIRContext* context, Target target = Target::cpu, std::vector<Extent> extents = {});
  /// Drops the function unless it has been taken.
  ~Emitter();

  /// Declares the next buffer; all are declared before start().
  int add_buffer(DType dtype);
  void start();
  mlir::Value begin() const { return begin_; }
  mlir::Value end() const { return end_; }
  /// Ends the function and returns it, without a name.
  mlir::func::FuncOp take();
  const std::vector<Extent>& extents() const { return extents_; }
  /// Whether to lay the loops out for a GPU. Asking makes the two forms of the kernel separate functions.
  bool for_gpu() {
    asked_for_target_ = true;
    return target_ == Target::gpu;
  }
  bool asked_for_target() const { return asked_for_target_; }
  /// Without a schedule: a thread for each item.
  void set_schedule(const GpuSchedule& schedule) { schedule_ = schedule; }
  const GpuSchedule& schedule() const { return schedule_; }
  /// The cost of one innermost iteration, in simple operations: a mathematical function counts as 8.
  int64_t cost() const;
  /// Marks two buffers as possibly the same: at each position the input is read before the output is written. Only for kernels
  /// in which no loop but a reduction has dependences between iterations.
  void allow_in_place(int input, int output);

  mlir::Value constant(int64_t value);
  mlir::Value f32(double value);
  mlir::Value size(const Extent& extent);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);

  mlir::Value buffer(int buffer);  ///< the memref
  mlir::Value load(int buffer, mlir::Value offset);
  void store(int buffer, mlir::Value offset, mlir::Value value);
  /// A constant table, to be read().
  mlir::Value table(llvm::ArrayRef<int64_t> values);
  mlir::Value table(llvm::ArrayRef<float> values);
  const std::vector<Table>& tables() const { return tables_; }
  /// Local memory of `count` elements of f32 or f64.
  mlir::Value scratch(int64_t count, mlir::Type element);
  mlir::Value read(mlir::Value scratch, mlir::Value index);
  void write(mlir::Value scratch, mlir::Value index, mlir::Value value);

  void parallel(mlir::Value low, mlir::Value high, llvm::function_ref<void(mlir::Value)> body);
  void sequential(mlir::Value low, mlir::Value high, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  /// Reduces the values of `body` over all indices; an empty range gives the neutral element (zeros, or -inf).
  Values reduce(Combine combine, mlir::Value low, mlir::Value high, llvm::ArrayRef<mlir::Type> types,
                llvm::function_ref<Values(mlir::Value)> body);
  /// Σ body(i) for i < count as f32, for each value of the body (`sums` of them), accurate for any count: short blocks in f32,
  /// their sum in f64.
  Values accurate_sums(const Extent& count, size_t sums, llvm::function_ref<Values(mlir::Value)> body);
  /// An index as f32.
  mlir::Value to_f32(mlir::Value index);

  /// Splits `flat`, an index into the product of the first `count` loops, into one index for each.
  Values decompose(mlir::Value flat, const std::vector<Loop>& loops, size_t count);
  /// The offset of an operand at loop indices. `flat` is the index that the first `flattened` ones came from.
  mlir::Value offset(size_t operand, const std::vector<Loop>& loops, llvm::ArrayRef<mlir::Value> indices, mlir::Value flat = {},
                     size_t flattened = 0);

  mlir::OpBuilder builder;
  mlir::Location loc;

 private:
  mlir::Type storage_type(DType dtype);
  mlir::Value table(mlir::DenseElementsAttr values, llvm::StringRef bytes);

  mlir::func::FuncOp function_;
  mlir::Value begin_, end_;
  std::vector<DType> buffers_;
  Target target_;
  std::vector<Extent> extents_;
  std::vector<Table> tables_;
  GpuSchedule schedule_;
  bool asked_for_target_ = false;
};

}  // namespace sheaf::kernels
