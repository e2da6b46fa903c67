// dist-replicate-state: each replica keeps the parameters it uses, and updates them.
#include "passes/dist/Homes.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTREPLICATESTATE
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

struct DistReplicateState : impl::DistReplicateStateBase<DistReplicateState> {
  void runOnOperation() override {
    auto parameters = region_parameters(getOperation());
    for (RegionParameter& parameter : parameters) {
      keep_copies(parameter);
      if (parameter.gradient)
        collect<dist::AllReduceOp>(
            parameter.gradient, parameter.copies,
            "each replica keeps the parameter and updates it: all of them need the sum of their gradients");
    }
    finish_homes(getOperation(), parameters.size(), Strategy::replicated);
  }
};

}  // namespace
}  // namespace sheaf::passes
