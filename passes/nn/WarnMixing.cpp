// nn-warn-mixing: reports where DataParallel's split changes what a layer computes.
#include "ir/Nn/Mixing.h"
#include "ir/Shapes.h"
#include "passes/Passes.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNWARNMIXING
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

struct NnWarnMixing : impl::NnWarnMixingBase<NnWarnMixing> {
  void runOnOperation() override {
    getOperation().walk([&](nn::DataParallelOp parallel) { follow(parallel); });
  }

 private:
  /// Follows the cut dimension from the region's inputs through its ops, each of which says where it goes.
  static void follow(nn::DataParallelOp parallel) {
    DenseMap<mlir::Value, int64_t> cut;
    Block& body = parallel.getBody().front();
    for (BlockArgument argument : body.getArguments())
      if (auto type = dyn_cast<RankedTensorType>(argument.getType()); type && !parallel.isReplicated(argument.getArgNumber()))
        if (auto dim = ir::normalize_dim(parallel.getDim(), type.getRank())) cut[argument] = *dim;
    for (Operation& op : body.without_terminator()) {
      if (split_results(op, cut)) continue;
      parallel->getParentOfType<func::FuncOp>()->setAttr(nn::kMixesRows, UnitAttr::get(op.getContext()));
      op.emitWarning("mixes what the DataParallel layer '")
          << parallel.getName() << "' splits: each replica computes it only from its chunk, so the result depends on "
          << "the number of devices (as in PyTorch)";
    }
  }

  /// Notes the dimension in which each result is cut; false if a used result depends on more than its own chunk.
  static bool split_results(Operation& op, DenseMap<mlir::Value, int64_t>& cut) {
    bool apart = true;
    for (OpOperand& operand : op.getOpOperands()) {
      auto found = cut.find(operand.get());
      if (found == cut.end()) continue;
      const int64_t from = found->second;  // the insertion below may move the entry
      for (OpResult result : op.getResults()) {
        if (result.use_empty()) continue;
        std::optional<int64_t> to = nn::split_result_dim(operand, result.getResultNumber(), from);
        // Cut in one dimension for one operand and in another for the next, it has parts that no replica computes.
        apart &= to && cut.try_emplace(result, *to).first->second == *to;
      }
    }
    return apart;
  }
};

}  // namespace
}  // namespace sheaf::passes
