// nn-keep-workspaces: adds workspaces to layers whose backward pass needs more than their operands and results.
#include "ir/Nn/Operands.h"
#include "passes/Passes.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNKEEPWORKSPACES
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

struct NnKeepWorkspaces : impl::NnKeepWorkspacesBase<NnKeepWorkspaces> {
  void runOnOperation() override {
    SmallVector<Operation*> ops;
    getOperation().walk([&](Operation* op) {
      if (const auto kind = nn::library_op(*op); kind && traits(*kind).training) ops.push_back(op);
    });
    for (Operation* op : ops) {
      // Operands and attributes are the same with and without a workspace.
      OpBuilder builder(op);
      SmallVector<mlir::Type> types(op->getResultTypes());
      types.push_back(RankedTensorType::get({1}, builder.getIntegerType(8, /*isSigned=*/false)));
      OperationState state(op->getLoc(), "nn." + to_string(*traits(*nn::library_op(*op)).training), op->getOperands(), types,
                           op->getAttrs());
      state.propertiesAttr = op->getPropertiesAsAttribute();
      Operation* kept = builder.create(state);
      op->replaceAllUsesWith(kept->getResults().drop_back());
      op->erase();
    }
  }
};

}  // namespace
}  // namespace sheaf::passes
