// dist-merge-applies: merges ops that one device runs without interruption into one dist.apply.
#include "passes/Passes.h"

#include "llvm/ADT/BitVector.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTMERGEAPPLIES
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// The place or group where an apply or parallel_apply runs; null for other ops.
Attribute place_of(Operation& op) {
  if (auto apply = dyn_cast<dist::ApplyOp>(op)) return apply.getPlace();
  if (auto apply = dyn_cast<dist::ParallelApplyOp>(op)) return apply.getGroupAttr();
  return {};
}

/// If the op has an input twice (because two equal scatters were merged, say), the two become one.
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

/// Merges several ops into one, at the place of the last. Shared inputs become one. All are merged together: merging one by one
/// would rebuild everything merged so far each time.
void merge(ArrayRef<Operation*> members) {
  for (Operation* member : members) drop_repeated_inputs(member);
  Operation *first = members.front(), *last = members.back();
  Block& body = first->getRegion(0).front();
  Operation* yield = body.getTerminator();
  SmallVector<mlir::Value> inputs(first->getOperands());
  DenseMap<mlir::Value, mlir::Value> inside;  // in the merged body, by the value outside
  for (auto [input, argument] : llvm::zip(inputs, body.getArguments())) inside[input] = argument;
  for (auto [result, value] : llvm::zip(first->getResults(), yield->getOperands())) inside[result] = value;
  for (Operation* member : members.drop_front()) {
    Block& block = member->getRegion(0).front();
    for (auto [input, argument] : llvm::zip(member->getOperands(), block.getArguments())) {
      mlir::Value& known = inside[input];
      if (!known) {
        known = body.addArgument(cast<dist::PlacedType>(input.getType()).getTensor(), input.getLoc());
        inputs.push_back(input);
      }
      argument.replaceAllUsesWith(known);
    }
    Operation* end = block.getTerminator();
    for (auto [result, value] : llvm::zip(member->getResults(), end->getOperands())) inside[result] = value;
    body.getOperations().splice(yield->getIterator(), block.getOperations(), block.begin(), end->getIterator());
  }

  llvm::SmallPtrSet<Operation*, 16> merged(members.begin(), members.end());
  SmallVector<mlir::Value> kept, yielded;
  SmallVector<mlir::Type> types;
  for (Operation* member : members) {
    for (mlir::Value result : member->getResults()) {
      bool leaves = llvm::any_of(result.getUsers(), [&](Operation* user) { return !merged.contains(user); });
      if (!leaves && member != last) continue;
      kept.push_back(result);
      types.push_back(result.getType());
      yielded.push_back(inside[result]);
    }
  }
  yield->setOperands(yielded);
  // The body's ops know their layers; a location fused from all of them would say less.
  OperationState state(first->getLoc(), first->getName(), inputs, types, first->getAttrs());
  state.addRegion()->takeBody(first->getRegion(0));
  Operation* together = OpBuilder(last).create(state);
  for (auto [old_value, new_value] : llvm::zip(kept, together->getResults())) old_value.replaceAllUsesWith(new_value);
  for (Operation* member : llvm::reverse(members)) member->erase();
}

/// The ops that one place runs until another op needs one of their results.
struct Group {
  SmallVector<Operation*> members;
  bool closed = false;
};

/// The function's applies and parallel_applies in order, in groups that can each become one op at their last member's position.
std::vector<Group> groups_of(Block& block) {
  std::vector<Group> groups;
  DenseMap<Attribute, size_t> latest;   // group by place
  DenseMap<Operation*, size_t> member;  // group by op
  for (Operation& op : block) {
    Attribute place = place_of(op);
    auto found = place ? latest.find(place) : latest.end();
    bool joins = found != latest.end() && !groups[found->second].closed;
    for (mlir::Value operand : op.getOperands()) {
      auto maker = member.find(operand.getDefiningOp());
      if (maker != member.end() && !(joins && maker->second == found->second)) groups[maker->second].closed = true;
    }
    if (!place) continue;
    if (!joins) {
      latest[place] = groups.size();
      groups.emplace_back();
    }
    groups[latest[place]].members.push_back(&op);
    member[&op] = latest[place];
  }
  return groups;
}

struct DistMergeApplies : impl::DistMergeAppliesBase<DistMergeApplies> {
  void runOnOperation() override {
    if (getOperation().isExternal()) return;
    for (const Group& group : groups_of(getOperation().getBody().front()))
      if (group.members.size() > 1) merge(group.members);
  }
};

}  // namespace
}  // namespace sheaf::passes
