// Phases of a training step in locations: what makes ops of one says so there, since locations outlive rewrites.
#pragma once

#include "runtime/plan/phase.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Location.h"

namespace sheaf::nn {

/// `loc` in `phase`, which must be no earlier than its own.
mlir::Location in_phase(mlir::Location loc, Phase phase);

/// The latest phase in `loc`; forward where it says nothing.
Phase phase_of(mlir::Location loc);

/// Puts all ops from `first` up to `last` into `phase`, with those in their regions.
void set_phase(mlir::Block::iterator first, mlir::Block::iterator last, Phase phase);

}  // namespace sheaf::nn
