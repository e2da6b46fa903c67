#include "passes/dist/Homes.h"

#include "passes/Arguments.h"
#include "passes/dist/Apply.h"

namespace sheaf::passes {

using namespace mlir;
using dist::PlacedType;

namespace {

/// The layout of a parameter's copies if only one region's replicas use it; else null.
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

/// How the parameter's gradient reaches its home: the sum over the replicas of `group`; null if it is computed some other way.
dist::ReduceOp sum_of(mlir::Value gradient, FlatSymbolRefAttr group) {
  auto reduce = gradient.getDefiningOp<dist::ReduceOp>();
  if (!reduce || !reduce->hasOneUse()) return {};
  return dist::group_of(reduce.getInput().getType().getLayout()) == group ? reduce : dist::ReduceOp();
}

}  // namespace

std::vector<RegionParameter> region_parameters(func::FuncOp function) {
  std::vector<RegionParameter> found;
  auto gradients = function->getAttrOfType<ArrayAttr>(nn::kGradients);
  if (function.isExternal() || !gradients) return found;
  llvm::StringMap<mlir::Value> gradient_of;
  Operation* end = function.getBody().front().getTerminator();
  for (auto [name, gradient] : llvm::zip(gradients, end->getOperands().take_back(gradients.size())))
    gradient_of[cast<StringAttr>(name).getValue()] = gradient;
  for (auto& [name, parameter] : arguments_of(function, "parameter")) {
    dist::ReplicatedAttr copies = only_use(parameter);
    if (!copies) continue;
    mlir::Value gradient = gradient_of.lookup(name);
    dist::ReduceOp reduce = gradient ? sum_of(gradient, copies.getGroup()) : dist::ReduceOp();
    // A parameter that the loss doesn't depend on is only read.
    if (!gradient || reduce) found.push_back({parameter, copies, reduce});
  }
  // In argument order: a map's order is arbitrary.
  llvm::sort(found, [](const RegionParameter& a, const RegionParameter& b) {
    return a.value.getArgNumber() < b.value.getArgNumber();
  });
  return found;
}

void set_home(BlockArgument parameter, Attribute home) {
  parameter.setType(PlacedType::get(home.getContext(), tensor_of(parameter), home));
}

void keep_copies(const RegionParameter& parameter) {
  mlir::BlockArgument value = parameter.value;
  set_home(value, parameter.copies);
  for (Operation* user : llvm::to_vector(value.getUsers())) {
    cast<dist::ReplicateOp>(user).getOutput().replaceAllUsesWith(value);
    user->erase();
  }
}

void finish_homes(func::FuncOp function, size_t parameters, Strategy strategy) {
  if (function.isExternal() || !function->hasAttr(nn::kGradients)) return;
  if (parameters == 0)
    function.emitWarning("no parameter is used only by the replicas of one DataParallel layer: with strategy '")
        << to_string(strategy) << "' the step is that of 'data_parallel'";
  function.setType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(),
                                     function.getBody().front().getTerminator()->getOperandTypes()));
}

}  // namespace sheaf::passes
