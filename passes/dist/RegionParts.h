// A parallel region's ops in parts, between which the replicas add up their values.
#pragma once

#include "passes/Passes.h"

#include <vector>

namespace sheaf::passes {

/// Ops that each replica runs without waiting for others.
struct RegionPart {
  llvm::SmallVector<mlir::Operation*> ops;        ///< in the region's order
  llvm::SmallVector<mlir::Value> inputs;          ///< what they use that others made: the region's inputs come first
  llvm::SmallVector<nn::SumOverReplicasOp> sums;  ///< of what they make
  llvm::SmallVector<mlir::Value> crossing;        ///< what they make and later parts use
  llvm::SmallVector<mlir::OpOperand*> yielded;    ///< the region's results that leave with this part
};

/// The parts of a region, at least one, in order. A sum over replicas separates what it sums from what reads the sum. Everything
/// else is in the part of its first user, so that little crosses from part to part; what only leaves the region is computed as
/// early as it can be. A result of the region that nobody uses is left out.
std::vector<RegionPart> parts_of(nn::DataParallelOp parallel);

}  // namespace sheaf::passes
