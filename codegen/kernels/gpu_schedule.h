// How a GPU's threads share a kernel's range.
#pragma once

#include "runtime/base/extent.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>

namespace sheaf::kernels {

/// `lanes` neighbouring threads work on one item, each on every lanes-th iteration
/// of the loops within (a power of two up to 32, or all threads of the block). With `columns`, neighbouring threads are
/// neighbouring items, and an item's lanes are block / lanes apart: for data in which neighbouring items, not neighbouring
/// iterations, are adjacent in memory.
struct GpuSchedule {
  int block = 256;  ///< threads
  int lanes = 1;
  bool columns = false;
  int64_t size = 1;    ///< approximate number of iterations of an item's loops
  int64_t across = 1;  ///< with columns: approximate number of items
  // What share_out() decides:
  int each = 1;   ///< items that a thread does together, if an item has one lane; or columns
  int width = 1;  ///< neighbouring items or iterations that a thread reads and writes as a vector (gpu_vectors.h)

  int items() const { return block / lanes * each; }
};

/// For loops of `size` iterations over adjacent elements within each item.
GpuSchedule gpu_rows(const Extent& size);
/// For `columns` adjacent items, with loops of `size` iterations over strided elements.
GpuSchedule gpu_columns(const Extent& columns, const Extent& size);
/// The schedule of the same kernel if its items' loops (or, with columns, its items) go by vectors of `width` elements.
GpuSchedule rows_by_vectors(GpuSchedule schedule, int width);
GpuSchedule columns_by_vectors(GpuSchedule schedule, int width);

/// On a kernel's argument, an index: the power of two up to 16 that it is a multiple of.
inline constexpr llvm::StringLiteral multiple_attribute = "sheaf.multiple";

/// Replaces a kernel by its GPU entries, according to the schedule in its attributes: `K` and, if marked `many`, `K_many`
/// (docs/cuda.md). How much a thread does at once is decided here, once for both. An error is reported on the operation that
/// can't be shared out.
mlir::FailureOr<GpuSchedule> share_out(mlir::func::FuncOp kernel);

}  // namespace sheaf::kernels
