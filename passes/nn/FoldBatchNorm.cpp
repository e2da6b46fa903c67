// nn-fold-batch-norm: in inference, turns a batch norm into a scale and shift per channel, which the layer before it absorbs.
#include "ir/Analysis/ParameterAnalysis.h"
#include "passes/Passes.h"
#include "passes/nn/Notes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNFOLDBATCHNORM
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// The weight's dimension that runs along output channels; nullopt if no single one does.
std::optional<int64_t> channel_axis(Operation* op) {
  if (auto transpose = dyn_cast<nn::ConvTransposeOp>(op))
    return transpose.getGroups() == 1 ? std::optional<int64_t>(1) : std::nullopt;
  return 0;
}

/// The rank of a result whose dimensions are the batch, the channels and those the layer works over.
int64_t batched_rank(nn::LinearOp) { return 2; }
template <typename Op>
int64_t batched_rank(Op convolution) {
  return static_cast<int64_t>(convolution.getStride().size()) + 2;
}

/// Why a batch norm after `producer` stays; empty if it is folded.
template <typename Op>
std::string obstacle(nn::BatchNormOp norm, Op producer) {
  if (!producer->hasOneUse()) return "something else needs that layer's own result";
  if (producer.getActivation()) return "an activation is between them";
  if constexpr (!std::is_same_v<Op, nn::ConvTransposeOp>)
    if (producer.getResidual()) return "a residual sum is between them, which it would have to scale too";
  if (!channel_axis(producer)) return "with groups the weight's output channels are spread over two dimensions";
  // The result's channels must be dimension 1, which fails without a batch or with further dimensions of a linear layer.
  auto type = cast<RankedTensorType>(norm.getX().getType());
  if (type.getRank() != batched_rank(producer)) return "channels of its input aren't those of that layer's result";
  // Only weights that don't change are folded; anything else would be recomputed at each step.
  ir::KnownValues known;
  bool still = ir::depends_on_parameters_alone(producer.getWeight(), known);
  for (mlir::Value operand : norm->getOperands().drop_front()) still &= ir::depends_on_parameters_alone(operand, known);
  return still ? "" : "its statistics or weights are computed at each step";
}

template <typename Op>
struct Fold : OpRewritePattern<nn::BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::BatchNormOp norm, PatternRewriter& rewriter) const override {
    auto producer = norm.getX().getDefiningOp<Op>();
    if (!producer || !obstacle(norm, producer).empty()) return failure();
    auto axis = channel_axis(producer);

    rewriter.setInsertionPoint(producer);
    mlir::Location loc = norm.getLoc();
    // A weight that is cast is folded before it is rounded.
    mlir::Value given = producer.getWeight();
    if (auto narrowed = given.getDefiningOp<nn::CastOp>()) given = narrowed.getX();
    mlir::Value weight = rewriter.create<nn::FoldWeightOp>(loc, given.getType(), given, norm.getVar(), norm.getWeight(),
                                                           norm.getEpsAttr(), rewriter.getI64IntegerAttr(*axis));
    weight = nn::cast_to(rewriter, loc, weight, cast<RankedTensorType>(producer.getWeight().getType()).getElementType());
    mlir::Value bias = rewriter.create<nn::FoldBiasOp>(loc, norm.getMean().getType(), norm.getMean(), norm.getVar(),
                                                       producer.getBias(), norm.getWeight(), norm.getBias(), norm.getEpsAttr());
    rewriter.modifyOpInPlace(producer, [&] {
      producer.getWeightMutable().set(weight);
      producer.getBiasMutable().assign(bias);
      producer->setLoc(rewriter.getFusedLoc({producer.getLoc(), loc}));
      note(producer, "the batch norm of " + in_words(norm) +
                         " is folded into its weight and bias, once: in inference it is a " + "scale and a shift per channel");
    });
    rewriter.replaceOp(norm, producer.getY());
    return success();
  }
};

/// Notes on each remaining batch norm why it stays.
void explain_rest(nn::BatchNormOp norm) {
  Operation* producer = norm.getX().getDefiningOp();
  std::string why;
  if (auto conv = dyn_cast_or_null<nn::ConvOp>(producer)) why = obstacle(norm, conv);
  else if (auto transpose = dyn_cast_or_null<nn::ConvTransposeOp>(producer)) why = obstacle(norm, transpose);
  else if (auto linear = dyn_cast_or_null<nn::LinearOp>(producer)) why = obstacle(norm, linear);
  else return note(norm, "not folded into a weight: no convolution or linear layer makes its input");
  note(norm, "not folded into the weight of " + in_words(producer) + ": " + why);
}

struct NnFoldBatchNorm : impl::NnFoldBatchNormBase<NnFoldBatchNorm> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Fold<nn::ConvOp>, Fold<nn::ConvTransposeOp>, Fold<nn::LinearOp>>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) return signalPassFailure();
    getOperation().walk(explain_rest);
  }
};

}  // namespace
}  // namespace sheaf::passes
