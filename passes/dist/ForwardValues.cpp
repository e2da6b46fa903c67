#include "passes/dist/ForwardValues.h"

#include "ir/Nn/Checkpoint.h"

#include "llvm/ADT/SetVector.h"

namespace sheaf::passes {

using namespace mlir;

mlir::Value ForwardValues::get(mlir::Value value, Operation* user) {
  if (Operation* maker = value.getDefiningOp(); maker && !nn::checkpoints_of(maker->getLoc()).empty()) wanted_.insert(maker);
  return get(value, nn::checkpoints_of(user->getLoc()));
}

void ForwardValues::mark_computed_twice() {
  UnitAttr mark = builder_.getUnitAttr();
  for (auto [op, again] : twice_) {
    if (wanted_.contains(op)) op->setAttr(nn::kApart, mark);
    auto shared = [](mlir::Value result) { return !result.use_empty() && !result.hasOneUse(); };
    if (wanted_.contains(op) || llvm::any_of(op->getResults(), shared)) again->setAttr(nn::kApart, mark);
  }
}

mlir::Value ForwardValues::keep(mlir::Value value) {
  mlir::Value& argument = arguments_[value];
  if (!argument) {
    kept_.push_back({body_->getNumArguments(), value});
    argument = body_->addArgument(value.getType(), value.getLoc());
  }
  return argument;
}

mlir::Value ForwardValues::known(mlir::Value value, Checkpoints around) {
  // Values needed outside their checkpoint are also available inside it.
  if (mlir::Value argument = arguments_.lookup(value)) return argument;
  Operation* maker = value.getDefiningOp();
  if (!maker || parameters_alone_.lookup(value)) return keep(value);
  Checkpoints made_in = nn::checkpoints_of(maker->getLoc());
  const auto [own, users] = std::mismatch(made_in.begin(), made_in.end(), around.begin(), around.end());
  if (own == made_in.begin()) return keep(value);
  for (Attribute checkpoint : llvm::make_range(made_in.begin(), own))
    if (mlir::Value made = recomputed_[checkpoint].lookup(value)) return made;
  Checkpoints common(made_in.begin(), own);
  return common.size() == around.size() ? mlir::Value() : get(value, common);
}

mlir::Value ForwardValues::get(mlir::Value value, Checkpoints around) {
  if (mlir::Value found = known(value, around)) return found;
  // Collects everything it depends on, without recursion: a checkpoint may hold any number of layers.
  llvm::SetVector<Operation*> ops;
  ops.insert(value.getDefiningOp());
  for (size_t i = 0; i < ops.size(); ++i)
    for (mlir::Value operand : ops[i]->getOperands())
      if (!known(operand, around)) ops.insert(operand.getDefiningOp());
  SmallVector<Operation*> in_order(ops.begin(), ops.end());
  llvm::sort(in_order, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
  for (Operation* op : in_order) make(op, around);
  return recomputed_[around.back()].lookup(value);
}

void ForwardValues::make(Operation* op, Checkpoints around) {
  IRMapping mapping;
  for (mlir::Value operand : op->getOperands()) mapping.map(operand, get(operand, around));
  auto& made = recomputed_[around.back()];
  if (isa<nn::PrintOp>(op)) {  // a value that is computed twice is printed once
    made[op->getResult(0)] = mapping.lookup(op->getOperand(0));
    return;
  }
  Operation* again = builder_.clone(*op, mapping);
  twice_.push_back({op, again});
  again->setAttr(nn::kReason, builder_.getStringAttr("computed once more for the backward pass: '" +
                                                     cast<StringAttr>(around.back()).getValue() +
                                                     "' is a checkpoint, which keeps no activations"));
  for (auto [result, value] : llvm::zip(op->getResults(), again->getResults())) made[result] = value;
}

}  // namespace sheaf::passes
