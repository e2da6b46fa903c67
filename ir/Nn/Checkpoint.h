// Activation checkpoints in locations: which layers keep no activations for the backward pass. Like phases (ir/Nn/Phase.h), since
// locations outlive rewrites.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

namespace sheaf::nn {

/// The attribute of what a checkpoint computes twice, and what would be kept without: its result is by itself both times, as if it were
/// kept, so that both have the same bits.
inline constexpr llvm::StringLiteral kApart = "nn.apart";

/// `loc` inside the layers with `checkpoint: true` that `checkpoints` names (full names, outermost first).
mlir::Location in_checkpoints(mlir::Location loc, llvm::ArrayRef<mlir::Attribute> checkpoints);

/// The checkpoints around what was made at `loc`, outermost first; empty for most.
llvm::ArrayRef<mlir::Attribute> checkpoints_of(mlir::Location loc);

}  // namespace sheaf::nn
