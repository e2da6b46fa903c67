// Rebuilding dist.apply and dist.parallel_apply.
#pragma once

#include "passes/Passes.h"

namespace sheaf::passes {

/// The tensor and the layout of a placed value.
inline mlir::RankedTensorType tensor_of(mlir::Value value) { return mlir::cast<dist::PlacedType>(value.getType()).getTensor(); }
inline mlir::Attribute layout_of(mlir::Value value) { return mlir::cast<dist::PlacedType>(value.getType()).getLayout(); }

/// A dist.apply on a place, or a dist.parallel_apply over a layout's group, at the builder's position; `build` makes its body
/// from the body's arguments and returns the yielded values. Results have the layout `layout`.
llvm::SmallVector<mlir::Value> make_apply(
    mlir::OpBuilder& builder, mlir::Location loc, mlir::Attribute layout, mlir::ValueRange inputs,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder&, mlir::ValueRange)> build);

/// `value`, which is on the host, a device or replicated, moved to the layout `to`, which is one of those, by an op with this
/// reason; `value` itself if it is there already.
mlir::Value move_to(mlir::OpBuilder& builder, mlir::Value value, mlir::Attribute to, llvm::StringRef reason);

/// An apply or parallel_apply with further results, `values` of its body: on its place, or local to the replicas. It replaces
/// `op`, which is erased; its first results are op's.
mlir::Operation* with_results(mlir::Operation* op, llvm::ArrayRef<mlir::Value> values);

/// The place of scalars for work on `layout`: the same, or, for shares, each of their replicas.
mlir::Attribute scalars_for(mlir::Attribute layout);

/// Where `value` was computed: the op itself, in the body of the apply or parallel_apply whose result it is. An apply merged
/// from several has the location of only one of them.
mlir::Location made_at(mlir::Value value);

}  // namespace sheaf::passes
