// Activation checkpoints in locations: which layers keep no activations for the backward pass. Like phases (ir/Nn/Phase.h),
// they are in locations because locations survive rewrites.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

namespace sheaf::nn {

/// The attribute of an op that a checkpoint computes twice, and whose result would be kept without it. Such an op isn't fused
/// either time, as if its result were kept, so that both results have the same bits.
inline constexpr llvm::StringLiteral kApart = "nn.apart";

/// `loc` inside the layers with `checkpoint: true` that `checkpoints` names (full names, outermost first).
mlir::Location in_checkpoints(mlir::Location loc, llvm::ArrayRef<mlir::Attribute> checkpoints);

/// The checkpoints around an op at `loc`, outermost first; most ops have none.
llvm::ArrayRef<mlir::Attribute> checkpoints_of(mlir::Location loc);

}  // namespace sheaf::nn
