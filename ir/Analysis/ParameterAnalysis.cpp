#include "ir/Analysis/ParameterAnalysis.h"

#include "ir/Dist/Dist.h"
#include "ir/Nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sheaf::ir {

bool depends_on_parameters_alone(mlir::Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation* parent = argument.getOwner()->getParentOp();
    if (auto function = dyn_cast<func::FuncOp>(parent)) {
      auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kRole);
      return role && (role.getValue() == "parameter" || role.getValue() == "buffer");
    }
    return argument.getArgNumber() < parent->getNumOperands() &&
           depends_on_parameters_alone(parent->getOperand(argument.getArgNumber()));
  }
  Operation* op = value.getDefiningOp();
  if (isa<dist::ApplyOp, dist::ParallelApplyOp>(op)) {
    mlir::Value inside = op->getRegion(0).front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    return depends_on_parameters_alone(inside);
  }
  // A chunk of a parameter differs between replicas, and its size with the device list: not worth a special case.
  if (!isMemoryEffectFree(op) || isa<dist::ScatterOp, dist::GatherOp>(op) || op->getNumOperands() == 0) return false;
  return llvm::all_of(op->getOperands(), depends_on_parameters_alone);
}

}  // namespace sheaf::ir
