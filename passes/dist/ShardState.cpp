// dist-shard-state: each replica keeps the parameters it uses, and a share of the optimiser's state.
#include "passes/dist/Homes.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTSHARDSTATE
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

struct DistShardState : impl::DistShardStateBase<DistShardState> {
  void runOnOperation() override {
    auto parameters = region_parameters(getOperation());
    for (RegionParameter& parameter : parameters) {
      keep_copies(parameter);
      if (parameter.gradient)
        collect<dist::ReduceScatterOp>(
            parameter.gradient, dist::ShardedAttr::get(&getContext(), parameter.copies.getGroup()),
            "each replica updates a share of the parameter: it needs the sum of the gradients of that share only");
    }
    finish_homes(getOperation(), parameters.size(), Strategy::sharded);
  }
};

}  // namespace
}  // namespace sheaf::passes
