// nn-inline-regions: removes the program's parallel regions and keeps their contents.
#include "passes/Passes.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNINLINEREGIONS
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

struct NnInlineRegions : impl::NnInlineRegionsBase<NnInlineRegions> {
  void runOnOperation() override {
    for (auto parallel : llvm::to_vector(getOperation().getOps<nn::DataParallelOp>())) inline_body(parallel);
    // Without an annotation everything stays where the first layer is put.
    getOperation().walk([](Operation* op) { op->removeAttr(nn::kDevice); });
  }

 private:
  static void inline_body(nn::DataParallelOp parallel) {
    Block& body = parallel.getBody().front();
    for (auto [argument, input] : llvm::zip(body.getArguments(), parallel.getInputs())) argument.replaceAllUsesWith(input);
    auto yielded = llvm::to_vector(body.getTerminator()->getOperands());
    for (Operation& op : llvm::make_early_inc_range(body.without_terminator())) op.moveBefore(parallel);
    for (auto [result, value] : llvm::zip(parallel.getResults(), yielded)) result.replaceAllUsesWith(value);
    parallel.erase();
  }
};

}  // namespace
}  // namespace sheaf::passes
