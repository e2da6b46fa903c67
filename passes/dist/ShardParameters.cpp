// dist-shard-parameters: each replica keeps a share of the parameters it uses, and of the optimiser's state.
#include "ir/Nn/Phase.h"
#include "passes/dist/Apply.h"
#include "passes/dist/Homes.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTSHARDPARAMETERS
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// Gives each op that uses the copies its own gather, so that no copy lives from one op to the next.
void gather_for_each(dist::ReplicateOp copies, BlockArgument parameter) {
  for (OpOperand& use : llvm::make_early_inc_range(copies.getOutput().getUses())) {
    Operation* user = use.getOwner();
    OpBuilder builder(user);
    const bool backward = nn::phase_of(user->getLoc()) == Phase::backward;
    auto gathered = builder.create<dist::AllGatherOp>(
        backward ? nn::in_phase(copies.getLoc(), Phase::backward) : copies.getLoc(), copies.getOutput().getType(), parameter,
        builder.getStringAttr(backward ? "each replica keeps a share of the parameter: the backward pass needs all of it again"
                                       : "each replica keeps a share of the parameter: the forward pass needs all of it"));
    use.set(gathered.getOutput());
  }
  copies.erase();
}

struct DistShardParameters : impl::DistShardParametersBase<DistShardParameters> {
  void runOnOperation() override {
    auto parameters = region_parameters(getOperation());
    for (RegionParameter& parameter : parameters) {
      auto shares = dist::ShardedAttr::get(&getContext(), parameter.copies.getGroup());
      set_home(parameter.value, shares);
      for (Operation* user : llvm::to_vector(parameter.value.getUsers()))
        gather_for_each(cast<dist::ReplicateOp>(user), parameter.value);
      if (parameter.gradient)
        collect<dist::ReduceScatterOp>(
            parameter.gradient, shares,
            "each replica keeps a share of the parameter: it needs the sum of the gradients of that share only");
    }
    finish_homes(getOperation(), parameters.size(), Strategy::fully_sharded);
  }
};

}  // namespace
}  // namespace sheaf::passes
