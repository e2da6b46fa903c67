// Phases of a training step in locations: whoever creates the ops of a phase marks them there, since locations survive
// rewrites.
#pragma once

#include "runtime/plan/phase.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Location.h"

namespace sheaf::nn {

/// `loc` in `phase`, which must be no earlier than its own.
mlir::Location in_phase(mlir::Location loc, Phase phase);

/// The latest phase in `loc`; forward if it has none.
Phase phase_of(mlir::Location loc);

/// Puts all ops from `first` up to `last`, and those in their regions, into `phase`.
void set_phase(mlir::Block::iterator first, mlir::Block::iterator last, Phase phase);

}  // namespace sheaf::nn
