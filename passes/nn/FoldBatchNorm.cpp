// nn-fold-batch-norm: in inference a batch norm is a scale and a shift per channel, which the layer before it takes in.
#include "ir/ParameterAnalysis.h"
#include "passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNFOLDBATCHNORM
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// The weight's dimension that runs along output channels; nullopt where no single one does.
std::optional<int64_t> channel_axis(Operation* op) {
  if (auto transpose = dyn_cast<nn::ConvTransposeOp>(op))
    return transpose.getGroups() == 1 ? std::optional<int64_t>(1) : std::nullopt;
  return 0;
}

/// The rank that a result has where its dimensions are the batch, channels and what the layer works over.
int64_t batched_rank(nn::LinearOp) { return 2; }
template <typename Op>
int64_t batched_rank(Op convolution) { return static_cast<int64_t>(convolution.getStride().size()) + 2; }

template <typename Op>
struct Fold : OpRewritePattern<nn::BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::BatchNormOp norm, PatternRewriter& rewriter) const override {
    auto producer = norm.getX().getDefiningOp<Op>();
    if (!producer || !producer->hasOneUse() || producer.getActivation()) return failure();
    auto axis = channel_axis(producer);
    // A norm after a residual sum would scale the residual too.
    if constexpr (!std::is_same_v<Op, nn::ConvTransposeOp>)
      if (producer.getResidual()) return failure();
    // Its result's channels must be dimension 1: not so without a batch, or with further dimensions of a linear layer.
    auto type = cast<RankedTensorType>(norm.getX().getType());
    if (!axis || type.getRank() != batched_rank(producer)) return failure();
    // Folding is for weights that stand still; anything else would be computed anew at each step.
    for (mlir::Value operand : norm->getOperands().drop_front())
      if (!ir::depends_on_parameters_alone(operand)) return failure();
    if (!ir::depends_on_parameters_alone(producer.getWeight())) return failure();

    rewriter.setInsertionPoint(producer);
    mlir::Location loc = norm.getLoc();
    mlir::Value weight = rewriter.create<nn::FoldWeightOp>(loc, producer.getWeight().getType(), producer.getWeight(), norm.getVar(),
                                                           norm.getWeight(), norm.getEpsAttr(), rewriter.getI64IntegerAttr(*axis));
    mlir::Value bias = rewriter.create<nn::FoldBiasOp>(loc, norm.getMean().getType(), norm.getMean(), norm.getVar(),
                                                       producer.getBias(), norm.getWeight(), norm.getBias(), norm.getEpsAttr());
    rewriter.modifyOpInPlace(producer, [&] {
      producer.getWeightMutable().set(weight);
      producer.getBiasMutable().assign(bias);
      producer->setLoc(rewriter.getFusedLoc({producer.getLoc(), loc}));
    });
    rewriter.replaceOp(norm, producer.getY());
    return success();
  }
};

struct NnFoldBatchNorm : impl::NnFoldBatchNormBase<NnFoldBatchNorm> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Fold<nn::ConvOp>, Fold<nn::ConvTransposeOp>, Fold<nn::LinearOp>>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
