#include "passes/dist/RegionParts.h"

#include <algorithm>
#include <optional>

namespace sheaf::passes {

using namespace mlir;

namespace {

class Cut {
 public:
  explicit Cut(nn::DataParallelOp parallel) : parallel_(parallel), body_(parallel.getBody().front()) {}

  std::vector<RegionPart> parts() {
    find_earliest();
    find_parts();
    std::vector<RegionPart> parts(last_ + 1);
    for (Operation& op : body_.without_terminator()) {
      if (auto sum = dyn_cast<nn::SumOverReplicasOp>(op)) parts[part_.lookup(sum.getX().getDefiningOp())].sums.push_back(sum);
      else parts[part_.lookup(&op)].ops.push_back(&op);
    }
    for (auto [result, operand] : llvm::zip(parallel_.getOutputs(), body_.getTerminator()->getOpOperands())) {
      if (result.use_empty()) continue;
      Operation* maker = maker_of(operand.get());
      const bool computed = maker && !isa<nn::SumOverReplicasOp>(maker);
      parts[computed ? part_.lookup(maker) : last_].yielded.push_back(&operand);
    }
    for (unsigned i = 0; i < parts.size(); ++i) find_values(parts, i);
    return parts;
  }

 private:
  /// By op, the first part that can run it; for a sum, the first that can make what it sums.
  void find_earliest() {
    for (Operation& op : body_.without_terminator()) {
      unsigned& earliest = earliest_[&op];
      for (mlir::Value operand : op.getOperands())
        if (Operation* maker = maker_of(operand))
          earliest = std::max(earliest, earliest_.lookup(maker) + (isa<nn::SumOverReplicasOp>(maker) ? 1 : 0));
      last_ = std::max(last_, earliest + (isa<nn::SumOverReplicasOp>(op) ? 1 : 0));
    }
  }

  void find_parts() {
    for (Operation& op : llvm::reverse(body_.without_terminator())) {
      std::optional<unsigned> first;
      for (Operation* user : op.getUsers())
        if (user != body_.getTerminator()) first = std::min(first.value_or(last_), part_.lookup(user));
      if (first && isa<nn::SumOverReplicasOp>(op)) --*first;
      part_[&op] = first.value_or(earliest_[&op]);
    }
  }

  void find_values(std::vector<RegionPart>& parts, unsigned number) {
    RegionPart& part = parts[number];
    auto take = [&](mlir::Value value) {
      if (Operation* maker = maker_of(value); maker && !isa<nn::SumOverReplicasOp>(maker)) {
        if (part_.lookup(maker) == number) return;
        insert(parts[part_.lookup(maker)].crossing, value);
      }
      insert(part.inputs, value);
    };
    for (Operation* op : part.ops) llvm::for_each(op->getOperands(), take);
    for (OpOperand* operand : part.yielded) take(operand->get());
    // The region's inputs first, in their order.
    llvm::stable_sort(part.inputs, [&](mlir::Value a, mlir::Value b) { return position(a) < position(b); });
  }

  /// The region's op that makes a value; null if it comes from outside.
  Operation* maker_of(mlir::Value value) {
    Operation* maker = value.getDefiningOp();
    return maker && maker->getBlock() == &body_ ? maker : nullptr;
  }

  unsigned position(mlir::Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body_ ? argument.getArgNumber() : body_.getNumArguments();
  }

  static void insert(SmallVectorImpl<mlir::Value>& values, mlir::Value value) {
    if (!llvm::is_contained(values, value)) values.push_back(value);
  }

  nn::DataParallelOp parallel_;
  Block& body_;
  unsigned last_ = 0;
  DenseMap<Operation*, unsigned> earliest_, part_;
};

}  // namespace

std::vector<RegionPart> parts_of(nn::DataParallelOp parallel) { return Cut(parallel).parts(); }

}  // namespace sheaf::passes
