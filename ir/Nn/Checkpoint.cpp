#include "ir/Nn/Checkpoint.h"

using namespace mlir;

// The metadata of a fused location is the list of names.

mlir::Location sheaf::nn::in_checkpoints(mlir::Location loc, ArrayRef<Attribute> checkpoints) {
  if (checkpoints.empty()) return loc;
  return FusedLoc::get({loc}, ArrayAttr::get(loc.getContext(), checkpoints), loc.getContext());
}

ArrayRef<Attribute> sheaf::nn::checkpoints_of(mlir::Location loc) {
  ArrayRef<Attribute> found;
  loc->walk([&](mlir::Location part) {
    auto fused = dyn_cast<FusedLocWith<ArrayAttr>>(part);
    if (fused) found = fused.getMetadata().getValue();
    return fused ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}
