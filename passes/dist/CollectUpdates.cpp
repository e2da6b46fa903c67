// dist-collect-updates: turns the values that layers assign to their buffers into results of the program.
#include "passes/dist/Apply.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTCOLLECTUPDATES
#include "passes/Passes.h.inc"

using namespace mlir;
using dist::PlacedType;

namespace {

/// The function's argument that `value` holds, seen through replicates and transfers; null if there is none.
BlockArgument argument_behind(mlir::Value value) {
  while (auto* op = value.getDefiningOp()) {
    if (!isa<dist::ReplicateOp, dist::TransferOp>(op)) return {};
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

struct DistCollectUpdates : impl::DistCollectUpdatesBase<DistCollectUpdates> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal()) return;
    Operation* end = function.getBody().front().getTerminator();
    SmallVector<mlir::Value> updates;
    SmallVector<mlir::Attribute> names;
    if (auto known = function->getAttrOfType<ArrayAttr>(nn::kUpdates)) llvm::append_range(names, known);
    OpBuilder builder(end);
    for (Operation& op : llvm::make_early_inc_range(function.getBody().front().without_terminator())) {
      if (!isa<dist::ApplyOp, dist::ParallelApplyOp>(op)) continue;
      SmallVector<nn::AssignOp> assigns(op.getRegion(0).getOps<nn::AssignOp>());
      if (assigns.empty()) continue;
      SmallVector<BlockArgument> buffers;
      for (nn::AssignOp assign : assigns) {
        auto inside = dyn_cast<BlockArgument>(assign.getBuffer());
        BlockArgument buffer = inside ? argument_behind(op.getOperand(inside.getArgNumber())) : BlockArgument();
        if (!buffer) {
          assign.emitError("assigns to a value that is no buffer of the program");
          return signalPassFailure();
        }
        buffers.push_back(buffer);
      }
      SmallVector<mlir::Value> assigned;
      for (nn::AssignOp assign : assigns) {
        assigned.push_back(assign.getValue());
        assign.erase();
      }
      Operation* larger = with_results(&op, assigned);
      unsigned first = larger->getNumResults() - static_cast<unsigned>(assigns.size());
      for (auto [i, buffer] : llvm::enumerate(buffers)) {
        updates.push_back(bring_home(builder, larger->getResult(first + static_cast<unsigned>(i)), buffer));
        names.push_back(function.getArgAttr(buffer.getArgNumber(), nn::kName));
      }
    }
    // An earlier result may come from an op that has been rebuilt.
    SmallVector<mlir::Value> results(end->getOperands());
    llvm::append_range(results, updates);
    end->setOperands(results);
    if (!names.empty()) function->setAttr(nn::kUpdates, builder.getArrayAttr(names));
    function.setType(builder.getFunctionType(function.getArgumentTypes(), end->getOperandTypes()));
  }

  /// `value`, moved to where `buffer` lives.
  static mlir::Value bring_home(OpBuilder& builder, mlir::Value value, BlockArgument buffer) {
    auto type = cast<PlacedType>(value.getType());
    if (type == buffer.getType()) return value;
    if (isa<dist::LocalAttr>(type.getLayout()))
      return builder.create<dist::FirstOp>(value.getDefiningOp()->getLoc(), buffer.getType(), value,
                                           builder.getStringAttr("DataParallel keeps the first replica's buffers"));
    return builder.create<dist::TransferOp>(
        value.getDefiningOp()->getLoc(), buffer.getType(), value,
        builder.getStringAttr("the buffer lives on " + dist::in_words(cast<PlacedType>(buffer.getType()).getLayout())));
  }
};

}  // namespace
}  // namespace sheaf::passes
