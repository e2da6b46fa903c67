// Exact shapes: what a `?` in a tensor type stands for, as a linear expression in the program's symbols.
#pragma once

#include "runtime/base/extent.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace sheaf::ir {

/// A tensor's element type and exact sizes.
struct TensorShape {
  mlir::Type element;
  llvm::SmallVector<Extent> dims;
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  bool operator==(const TensorShape&) const = default;
};

/// The builtin tensor type of a shape: sizes that are not static become `?`.
mlir::RankedTensorType tensor_type(const TensorShape& shape);

/// The shape of a tensor type; each `?` becomes the symbol `dynamic_symbol`.
TensorShape shape_of(mlir::RankedTensorType type, llvm::StringRef dynamic_symbol = "?");

/// "[batch, 64, 28, 28]" for messages.
std::string to_string(const TensorShape& shape);

/// Whether two sizes are known to be equal. An expression in the symbol "?" (verifiers see no more than that) is assumed to fit
/// anything.
bool may_be_equal(const Extent& a, const Extent& b);

/// Whether two shapes have the same rank and sizes that may be equal.
bool may_fit(const TensorShape& a, const TensorShape& b);

/// Normalises a PyTorch dimension (negative from the end) of a tensor of `rank`; nullopt if out of range.
std::optional<int64_t> normalize_dim(int64_t dim, int64_t rank);

}  // namespace sheaf::ir
