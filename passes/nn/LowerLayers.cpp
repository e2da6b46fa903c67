// nn-lower-layers: lowers layers that neither a library call nor a single kernel computes.
#include "ir/Nn/Attention.h"
#include "ir/Nn/Operands.h"
#include "passes/Passes.h"
#include "passes/nn/LowerPatterns.h"
#include "passes/nn/NnBuilder.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNLOWERLAYERS
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// Dropout in inference and Identity return their input.
template <typename Op>
struct Forward : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};

/// Layers over an image get a batch dimension of size 1 around them, because libraries want one.
struct AddBatch : RewritePattern {
  explicit AddBatch(MLIRContext* context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation* op, PatternRewriter& rewriter) const override {
    const std::optional<int64_t> spatial = nn::spatial_dims(*op);
    if (!spatial || op->getNumResults() != 1) return failure();
    mlir::Value image = op->getOperand(0);
    auto x = cast<RankedTensorType>(image.getType()), y = cast<RankedTensorType>(op->getResult(0).getType());
    if (x.getRank() != *spatial + 1) return failure();
    NnBuilder nn{rewriter, op->getLoc()};
    auto with_batch = [](RankedTensorType type) {
      SmallVector<int64_t> shape = {1};
      llvm::append_range(shape, type.getShape());
      return shape;
    };
    IRMapping map;
    map.map(image, nn.reshape(image, with_batch(x)));
    Operation* batched = rewriter.clone(*op, map);
    batched->getResult(0).setType(RankedTensorType::get(with_batch(y), y.getElementType()));
    rewriter.replaceOp(op, nn.reshape(batched->getResult(0), SmallVector<int64_t>(y.getShape())));
    return success();
  }
};

/// A sequence without a batch dimension, [T, I], becomes [T, 1, I], and its states [layers, H] become [layers, 1, H].
template <typename Op>
struct AddSequenceBatch : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    if (NnBuilder::shape(op.getX()).size() != 2) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    auto with_batch = [](ArrayRef<int64_t> shape) { return SmallVector<int64_t>{shape[0], 1, shape[1]}; };
    IRMapping map;
    auto add_batch = [&](mlir::Value value) {
      if (value) map.map(value, nn.reshape(value, with_batch(NnBuilder::shape(value))));
    };
    add_batch(op.getX());
    add_batch(op.getH0());
    if constexpr (std::is_same_v<Op, nn::LstmOp>) add_batch(op.getC0());
    auto batched = cast<Op>(rewriter.clone(*op, map));
    batched.setBatchFirst(false);
    SmallVector<mlir::Value> results;
    for (auto [old_result, result] : llvm::zip(op->getResults(), batched->getResults())) {
      result.setType(NnBuilder::with_shape(result, with_batch(NnBuilder::shape(old_result))));
      results.push_back(nn.reshape(result, SmallVector<int64_t>(NnBuilder::shape(old_result))));
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// A convolution with non-zero padding gets an input that is enlarged, dimension by dimension, with slices of itself
/// (torch.nn.functional.pad), and pads nothing.
struct PadBorder : OpRewritePattern<nn::ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ConvOp op, PatternRewriter& rewriter) const override {
    auto mode = op->getAttrOfType<StringAttr>(nn::kPaddingMode);
    if (!mode) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = op.getX();
    const size_t spatial = op.getStride().size(), first = NnBuilder::shape(x).size() - spatial;
    for (size_t i = 0; i < spatial; ++i)
      x = bordered(nn, x, static_cast<int64_t>(first + i), op.getPaddingBegin()[i], op.getPaddingEnd()[i], mode.getValue());
    IRMapping map;
    map.map(op.getX(), x);
    auto plain = cast<nn::ConvOp>(rewriter.clone(*op, map));
    plain->removeAttr(nn::kPaddingMode);
    plain.setPaddingBegin(SmallVector<int64_t>(spatial, 0));
    plain.setPaddingEnd(SmallVector<int64_t>(spatial, 0));
    rewriter.replaceOp(op, plain);
    return success();
  }
};

/// A concatenation of many inputs becomes a concatenation of concatenations of at most this many: a kernel has code of its own
/// for each input, and its compile time grows faster than their number. The inner ones copy their elements once more.
struct SplitConcat : OpRewritePattern<nn::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  static constexpr size_t kMostInputs = 32;

  LogicalResult matchAndRewrite(nn::ConcatOp op, PatternRewriter& rewriter) const override {
    SmallVector<mlir::Value> inputs(op.getInputs());
    if (inputs.size() <= kMostInputs) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    const int64_t dim = *ir::normalize_dim(op.getDim(), static_cast<int64_t>(NnBuilder::shape(op.getY()).size()));
    while (inputs.size() > kMostInputs) {
      SmallVector<mlir::Value> joined;
      for (ArrayRef<mlir::Value> rest = inputs; !rest.empty(); rest = rest.drop_front(std::min(rest.size(), kMostInputs)))
        joined.push_back(nn.concat(rest.take_front(kMostInputs), dim));
      inputs = std::move(joined);
    }
    rewriter.replaceOp(op, nn.concat(inputs, dim));
    return success();
  }
};

/// A gated linear unit is a product of two halves.
struct LowerGlu : OpRewritePattern<nn::GluOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::GluOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    auto type = cast<RankedTensorType>(op.getY().getType());
    const int64_t dim = *ir::normalize_dim(op.getDim(), type.getRank()), half = type.getDimSize(dim);
    mlir::Value gate = nn.make<nn::SigmoidOp>(type, nn.slice(op.getX(), dim, half, half));
    rewriter.replaceOp(op, nn.make<nn::MulOp>(type, nn.slice(op.getX(), dim, 0, half), gate));
    return success();
  }
};

/// For a scalar, as in PyTorch, the layer treats it as a vector of one element.
struct ScalarSoftmax : OpRewritePattern<nn::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::SoftmaxOp op, PatternRewriter& rewriter) const override {
    if (!NnBuilder::shape(op.getX()).empty()) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = nn.reshape(op.getX(), {1});
    mlir::Value y =
        nn.make<nn::SoftmaxOp>(cast<RankedTensorType>(x.getType()), x, rewriter.getI64IntegerAttr(0), op.getLogAttr());
    rewriter.replaceOp(op, nn.reshape(y, {}));
    return success();
  }
};

/// An attention that stays whole until its dual is built, which computes the weights again instead of keeping them all.
struct KeepAttention : OpRewritePattern<nn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionOp op, PatternRewriter& rewriter) const override {
    ArrayRef<int64_t> query = NnBuilder::shape(op.getQuery());
    const bool stays = query[query.size() - 2] >= nn::kManyQueries;
    if (stays && !op.getEnableGqa()) return failure();
    if (stays) resolve_groups(op, rewriter);
    else lower_attention(op, rewriter);
    return success();
  }
};

template <typename Op>
struct LowerAttention : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    lower_attention(op, rewriter);
    return success();
  }
};

struct NnLowerLayers : impl::NnLowerLayersBase<NnLowerLayers> {
  using NnLowerLayersBase::NnLowerLayersBase;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    if (beforeGradients) patterns.add<KeepAttention>(&getContext());
    else patterns.add<LowerAttention<nn::AttentionOp>>(&getContext());
    patterns.add<LowerAttention<nn::MultiheadAttentionOp>, LowerGlu, PadBorder, SplitConcat, ScalarSoftmax,
                 AddSequenceBatch<nn::LstmOp>, AddSequenceBatch<nn::GruOp>, AddSequenceBatch<nn::RnnOp>, Forward<nn::DropoutOp>,
                 Forward<nn::IdentityOp>, AddBatch>(&getContext());
    add_indexing_patterns(patterns);
    add_reduction_patterns(patterns);
    add_pool_position_patterns(patterns);
    add_resampling_patterns(patterns);
    add_spatial_patterns(patterns);
    add_window_patterns(patterns);
    add_target_patterns(patterns, beforeGradients);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
