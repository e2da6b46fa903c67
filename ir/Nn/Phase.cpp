#include "ir/Nn/Phase.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <algorithm>

using namespace mlir;

// The metadata of a fused location is the phase's name.

mlir::Location sheaf::nn::in_phase(mlir::Location loc, Phase phase) {
  std::string_view name = name_of(phase);
  return FusedLoc::get({loc}, StringAttr::get(loc.getContext(), StringRef(name.data(), name.size())), loc.getContext());
}

sheaf::Phase sheaf::nn::phase_of(mlir::Location loc) {
  Phase latest = Phase::forward;
  loc->walk([&](mlir::Location part) {
    if (auto fused = dyn_cast<FusedLocWith<StringAttr>>(part))
      latest = std::max(latest, phase_from_name(fused.getMetadata().getValue()).value_or(Phase::forward));
    return WalkResult::advance();
  });
  return latest;
}

void sheaf::nn::set_phase(Block::iterator first, Block::iterator last, Phase phase) {
  for (Operation& op : llvm::make_range(first, last))
    op.walk([&](Operation* inner) { inner->setLoc(in_phase(inner->getLoc(), phase)); });
}
