// dist-replicate-state: each replica keeps the parameters that it uses, and updates them.
#include "passes/Arguments.h"
#include "passes/dist/Apply.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTREPLICATESTATE
#include "passes/Passes.h.inc"

using namespace mlir;
using dist::PlacedType;

namespace {

/// The layout of all copies of a parameter where one region's replicas use it and nobody else does; else null.
dist::ReplicatedAttr only_use(BlockArgument parameter) {
  dist::ReplicatedAttr layout;
  for (Operation* user : parameter.getUsers()) {
    auto replicate = dyn_cast<dist::ReplicateOp>(user);
    if (!replicate) return {};
    auto copies = cast<dist::ReplicatedAttr>(replicate.getOutput().getType().getLayout());
    if (layout && layout != copies) return {};
    layout = copies;
  }
  return layout;
}

/// How the parameter's gradient comes to its home: the sum over the replicas of `group`; null if it is made otherwise.
dist::ReduceOp sum_of(mlir::Value gradient, FlatSymbolRefAttr group) {
  auto reduce = gradient.getDefiningOp<dist::ReduceOp>();
  if (!reduce || !reduce->hasOneUse()) return {};
  return dist::group_of(reduce.getInput().getType().getLayout()) == group ? reduce : dist::ReduceOp();
}

struct DistReplicateState : impl::DistReplicateStateBase<DistReplicateState> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto gradients = function->getAttrOfType<ArrayAttr>(nn::kGradients);
    if (function.isExternal() || !gradients) return;
    Operation* end = function.getBody().front().getTerminator();
    llvm::StringMap<mlir::Value> gradient_of;
    for (auto [name, gradient] : llvm::zip(gradients, end->getOperands().take_back(gradients.size())))
      gradient_of[cast<StringAttr>(name).getValue()] = gradient;
    bool any = false;
    for (auto& [name, parameter] : arguments_of(function, "parameter")) {
      dist::ReplicatedAttr home = only_use(parameter);
      if (!home) continue;
      mlir::Value gradient = gradient_of.lookup(name);
      dist::ReduceOp reduce = gradient ? sum_of(gradient, home.getGroup()) : dist::ReduceOp();
      // One that the loss doesn't depend on is read alone.
      if (gradient && !reduce) continue;
      settle(parameter, home);
      any = true;
      if (reduce) add_up_everywhere(reduce, home);
    }
    if (!any)
      function.emitWarning(
          "no parameter is used by the replicas of one DataParallel layer and nobody else: with strategy 'replicated' "
          "the step is that of 'data_parallel'");
    function.setType(FunctionType::get(&getContext(), function.getBody().getArgumentTypes(), end->getOperandTypes()));
  }

  static void settle(BlockArgument parameter, dist::ReplicatedAttr home) {
    parameter.setType(PlacedType::get(home.getContext(), tensor_of(parameter), home));
    for (Operation* user : llvm::to_vector(parameter.getUsers())) {
      user->getResult(0).replaceAllUsesWith(parameter);
      user->erase();
    }
  }

  static void add_up_everywhere(dist::ReduceOp reduce, dist::ReplicatedAttr home) {
    OpBuilder builder(reduce);
    auto type = PlacedType::get(home.getContext(), tensor_of(reduce.getOutput()), home);
    auto sum = builder.create<dist::AllReduceOp>(
        reduce.getLoc(), type, reduce.getInput(),
        builder.getStringAttr("each replica keeps the parameter and updates it: all of them need the sum of their gradients"));
    reduce.getOutput().replaceAllUsesWith(sum.getOutput());
    reduce.erase();
  }
};

}  // namespace
}  // namespace sheaf::passes
