// nn-fuse-library: a residual sum and an activation move into the library call before them.
#include "passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNFUSELIBRARY
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// activation(call(x)) → call(x) with the activation.
template <typename Op>
struct FuseActivation : RewritePattern {
  explicit FuseActivation(MLIRContext* context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation* op, PatternRewriter& rewriter) const override {
    DictionaryAttr activation = nn::activation_of(op);
    if (!activation) return failure();
    auto call = op->getOperand(0).getDefiningOp<Op>();
    if (!call || !call->hasOneUse() || call.getActivation()) return failure();
    rewriter.modifyOpInPlace(call, [&] {
      call.setActivationAttr(activation);
      call->setLoc(rewriter.getFusedLoc({call.getLoc(), op->getLoc()}));
    });
    rewriter.replaceOp(op, call.getY());
    return success();
  }
};

/// add(call(x), r) → call(x) with residual r, at the place of the addition, where r is known.
template <typename Op>
struct FuseResidual : OpRewritePattern<nn::AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::AddOp add, PatternRewriter& rewriter) const override {
    for (auto [from, other] : {std::pair(add.getA(), add.getB()), std::pair(add.getB(), add.getA())}) {
      auto call = from.getDefiningOp<Op>();
      if (!call || !call->hasOneUse() || call.getActivation() || call.getResidual()) continue;
      if (other.getType() != from.getType()) continue;  // a broadcast sum is no residual
      Operation* fused = rewriter.clone(*call);
      fused->setLoc(rewriter.getFusedLoc({call.getLoc(), add.getLoc()}));
      rewriter.modifyOpInPlace(fused, [&, other = other] { cast<Op>(fused).getResidualMutable().assign(other); });
      rewriter.replaceOp(add, fused->getResults());
      rewriter.eraseOp(call);
      return success();
    }
    return failure();
  }
};

struct NnFuseLibrary : impl::NnFuseLibraryBase<NnFuseLibrary> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseActivation<nn::ConvOp>, FuseActivation<nn::ConvTransposeOp>, FuseActivation<nn::LinearOp>,
                 FuseResidual<nn::ConvOp>, FuseResidual<nn::LinearOp>>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
