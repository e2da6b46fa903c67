#include "ir/Analysis/ParameterAnalysis.h"

#include "ir/Dist/Dist.h"
#include "ir/Nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sheaf::ir {

/// The rule of depends_on_parameters_alone(); `alone` answers it for the values that `value` is computed from.
static bool from_operands(mlir::Value value, llvm::function_ref<bool(mlir::Value)> alone) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation* parent = argument.getOwner()->getParentOp();
    if (auto function = dyn_cast<func::FuncOp>(parent)) {
      auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kRole);
      return role && (role.getValue() == "parameter" || role.getValue() == "buffer");
    }
    return argument.getArgNumber() < parent->getNumOperands() && alone(parent->getOperand(argument.getArgNumber()));
  }
  Operation* op = value.getDefiningOp();
  if (isa<dist::ApplyOp, dist::ParallelApplyOp>(op)) {
    mlir::Value inside = op->getRegion(0).front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    return alone(inside);
  }
  // Chunks of a parameter differ in size between replicas and between device lists: not worth a special case.
  auto is_split = [](mlir::Value end) {
    auto placed = dyn_cast<dist::PlacedType>(end.getType());
    return placed && isa<dist::SplitAttr>(placed.getLayout());
  };
  if (!isMemoryEffectFree(op) || op->getNumOperands() == 0 || is_split(value) || llvm::any_of(op->getOperands(), is_split))
    return false;
  return llvm::all_of(op->getOperands(), alone);
}

bool depends_on_parameters_alone(mlir::Value value, KnownValues& known) {
  if (auto found = known.find(value); found != known.end()) return found->second;
  bool alone = from_operands(value, [&](mlir::Value other) { return depends_on_parameters_alone(other, known); });
  known[value] = alone;
  return alone;
}

}  // namespace sheaf::ir
