// dist-merge-applies: what one device runs without interruption becomes one dist.apply.
#include "passes/Passes.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTMERGEAPPLIES
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// Whether any op after `first` and before `second` uses a result of `first`, directly or through others.
bool depends_between(Operation* first, Operation* second) {
  llvm::SmallPtrSet<Operation*, 16> dependent = {first};
  for (Operation* op = first->getNextNode(); op != second; op = op->getNextNode())
    for (mlir::Value operand : op->getOperands())
      if (dependent.contains(operand.getDefiningOp())) return true;
  return false;
}

/// Same kind of op on the same place or group.
bool same_place(Operation* a, Operation* b) {
  if (auto apply = dyn_cast<dist::ApplyOp>(a)) {
    auto other = dyn_cast<dist::ApplyOp>(b);
    return other && apply.getPlace() == other.getPlace();
  }
  auto apply = dyn_cast<dist::ParallelApplyOp>(a);
  auto other = dyn_cast<dist::ParallelApplyOp>(b);
  return apply && other && apply.getGroupAttr() == other.getGroupAttr();
}

/// An input that the op has twice (two equal scatters have become one, say) becomes one.
void drop_repeated_inputs(Operation* op) {
  Block& body = op->getRegion(0).front();
  BitVector repeated(op->getNumOperands());
  DenseMap<mlir::Value, BlockArgument> known;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto [found, fresh] = known.try_emplace(operand, body.getArgument(static_cast<unsigned>(i)));
    if (fresh) continue;
    body.getArgument(static_cast<unsigned>(i)).replaceAllUsesWith(found->second);
    repeated.set(static_cast<unsigned>(i));
  }
  body.eraseArguments(repeated);
  op->eraseOperands(repeated);
}

/// One op in place of `first` and `second`, at second's position. Inputs that both have become one.
void merge(Operation* first, Operation* second) {
  drop_repeated_inputs(first);
  drop_repeated_inputs(second);
  OpBuilder builder(second);
  llvm::SetVector<mlir::Value> inputs(first->operand_begin(), first->operand_end());
  for (mlir::Value input : second->getOperands())
    if (input.getDefiningOp() != first) inputs.insert(input);

  Block &body_a = first->getRegion(0).front(), &body_b = second->getRegion(0).front();
  Operation *yield_a = body_a.getTerminator(), *yield_b = body_b.getTerminator();
  for (unsigned i = first->getNumOperands(); i < inputs.size(); ++i)
    body_a.addArgument(cast<dist::PlacedType>(inputs[i].getType()).getTensor(), inputs[i].getLoc());
  for (auto [input, argument] : llvm::zip(second->getOperands(), body_b.getArguments())) {
    mlir::Value inside = input.getDefiningOp() == first
                             ? yield_a->getOperand(cast<OpResult>(input).getResultNumber())
                             : mlir::Value(body_a.getArgument(llvm::find(inputs, input) - inputs.begin()));
    argument.replaceAllUsesWith(inside);
  }
  SmallVector<mlir::Value> old_results, yielded;
  SmallVector<mlir::Type> types;
  auto keep = [&](mlir::Value result, mlir::Value inside) {
    old_results.push_back(result);
    types.push_back(result.getType());
    yielded.push_back(inside);
  };
  for (auto [result, inside] : llvm::zip(first->getResults(), yield_a->getOperands()))
    if (llvm::any_of(result.getUsers(), [&](Operation* user) { return user != second; })) keep(result, inside);
  for (auto [result, inside] : llvm::zip(second->getResults(), yield_b->getOperands())) keep(result, inside);
  body_a.getOperations().splice(yield_a->getIterator(), body_b.getOperations(), body_b.begin(), yield_b->getIterator());
  yield_a->setOperands(yielded);

  // The bodies' ops know their layers; a location of all of them would be made anew, and longer, at each merge.
  OperationState state(first->getLoc(), first->getName(), inputs.getArrayRef(), types, first->getAttrs());
  state.addRegion()->takeBody(first->getRegion(0));
  Operation* merged = builder.create(state);
  for (auto [old_value, new_value] : llvm::zip(old_results, merged->getResults())) old_value.replaceAllUsesWith(new_value);
  second->erase();
  first->erase();
}

struct DistMergeApplies : impl::DistMergeAppliesBase<DistMergeApplies> {
  void runOnOperation() override {
    if (getOperation().isExternal()) return;
    Block& block = getOperation().getBody().front();
    SmallVector<Operation*> earlier;  // in order, the last op of each place
    for (Operation& op : llvm::make_early_inc_range(block)) {
      if (!isa<dist::ApplyOp, dist::ParallelApplyOp>(op)) continue;
      Operation* current = &op;
      for (Operation*& before : earlier) {
        if (!same_place(before, current)) continue;
        if (!depends_between(before, current)) {
          Operation* next = current->getNextNode();
          merge(before, current);
          current = next->getPrevNode();
        }
        before = nullptr;
      }
      llvm::erase(earlier, nullptr);
      earlier.push_back(current);
    }
  }
};

}  // namespace
}  // namespace sheaf::passes
