// nn-warn-mixing: says where DataParallel's split changes what a layer computes.
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
      if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
        if (auto dim = ir::normalize_dim(parallel.getDim(), type.getRank())) cut[argument] = *dim;
    for (Operation& op : body.without_terminator()) {
      auto splits = dyn_cast<nn::SplitOpInterface>(op);
      for (OpOperand& operand : op.getOpOperands()) {
        auto found = cut.find(operand.get());
        if (found == cut.end()) continue;
        std::optional<int64_t> dim = found->second;
        if (splits) {
          int64_t rank = cast<RankedTensorType>(operand.get().getType()).getRank();
          dim = splits.splitDim(operand.getOperandNumber(), rank, found->second);
        }
        if (dim) {
          for (mlir::Value result : op.getResults()) cut[result] = *dim;
        } else if (!isa<nn::ReshapeOp>(op)) {  // a reshape's rule claims only what is sure; its silence says nothing
          op.emitWarning("mixes what the DataParallel layer '")
              << parallel.getName() << "' splits: each replica computes it from its chunk alone, so the result depends on "
              << "the number of devices (as in PyTorch)";
        }
      }
    }
  }
};

}  // namespace
}  // namespace sheaf::passes
