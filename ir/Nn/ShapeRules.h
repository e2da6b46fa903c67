// Shape and splitting rules that several nn ops follow.
#pragma once

#include "ir/Nn/Nn.h"

namespace sheaf::nn {

using ShapeList = llvm::SmallVectorImpl<ir::TensorShape>;
using Shapes = llvm::ArrayRef<ir::TensorShape>;

/// Whether `size` depends on the batch, not only on lengths, in the program that contains `op`. False if it is unknown, as in
/// verifiers.
bool depends_on_rows(mlir::Operation* op, const Extent& size);

/// What keeps `size` from being a number, for messages: "the batch" or "the length 'seq'".
std::string opened_by(mlir::Operation* op, const Extent& size);

/// A size in lengths, as an attribute states it: "seq". Emits an error if it is no such size.
llvm::FailureOr<Extent> parsed_length(mlir::Operation* op, llvm::StringRef text);

/// The product of sizes; unknown if one of them is.
Extent size_product(const Extent& a, const Extent& b);

/// Layers compute on floating-point numbers, as PyTorch's do: integers are an error, which says what to do.
llvm::LogicalResult require_float(mlir::Operation* op, Shapes operands);

/// All are floats, or all are int64, or all int32; with `bools` all may be bools.
llvm::LogicalResult require_one_kind(mlir::Operation* op, Shapes operands, bool bools);

/// Log probabilities [T, N, C], targets [N, S] and the lengths of both, [N].
llvm::LogicalResult check_ctc(mlir::Operation* op, Shapes operands);

/// Each of `vectors` must be [size].
llvm::LogicalResult require_vectors(mlir::Operation* op, Shapes vectors, const Extent& size);

/// `shape` must be 0-dimensional. `what` names it in the message ("a step").
llvm::LogicalResult require_scalar(mlir::Operation* op, const ir::TensorShape& shape, const char* what);

/// A second tensor must fit the first's shape. `what` names it.
llvm::LogicalResult require_fit(mlir::Operation* op, const ir::TensorShape& expected, const ir::TensorShape& found,
                                const char* what);

/// The result has the first operand's shape; all operands are of floating point.
llvm::LogicalResult same_shape(mlir::Operation* op, Shapes operands, ShapeList& results);

/// torch.broadcast_tensors: dimensions are aligned at the end, and a size of 1 stretches. `y` becomes the shape that it and x
/// broadcast to; its element type stays.
llvm::LogicalResult broadcast_dims(mlir::Operation* op, ir::TensorShape& y, const ir::TensorShape& x);
/// For two floating-point operands.
llvm::LogicalResult broadcast_shape(mlir::Operation* op, Shapes operands, ShapeList& results);
/// For two floating-point operands, or two integers of one type.
llvm::LogicalResult broadcast_numbers(mlir::Operation* op, Shapes operands, ShapeList& results);

/// The result of a reduction over `dims`, which may be negative.
llvm::LogicalResult reduced_shape(mlir::Operation* op, llvm::ArrayRef<int64_t> dims, bool keepdim, Shapes operands,
                                  ShapeList& results);
std::optional<int64_t> reduced_split(llvm::ArrayRef<int64_t> dims, bool keepdim, int64_t rank, int64_t dim);

/// Element-wise ops split along any dimension that the operand shares with the result.
std::optional<int64_t> aligned_split(mlir::Operation* op, unsigned operand, int64_t rank, int64_t dim);

/// `dim` counted from 0; emits an error if x has no such dimension.
std::optional<int64_t> valid_dim(mlir::Operation* op, int64_t dim, const ir::TensorShape& x);

/// The last `spatial` sizes of an image must be numbers: a window can't move over a size that depends on the batch.
llvm::LogicalResult require_static_image(mlir::Operation* op, const ir::TensorShape& image, int64_t spatial);

/// The shape of a workspace in the compiler: [1] of bytes.
ir::TensorShape workspace_shape(mlir::MLIRContext* context);

}  // namespace sheaf::nn
