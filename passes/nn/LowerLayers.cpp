// nn-lower-layers: layers that neither a library call nor one kernel computes are taken apart.
#include "ir/Nn/Operands.h"
#include "passes/Passes.h"
#include "passes/nn/NnBuilder.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNLOWERLAYERS
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// Dropout in inference and Identity give their input.
template <typename Op>
struct Forward : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};

/// Layers over an image that libraries want with a batch dimension get one of size 1 around them.
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

/// A mean over dimensions that don't lie side by side is taken one dimension after another, the last one first.
struct SplitMean : OpRewritePattern<nn::MeanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::MeanOp op, PatternRewriter& rewriter) const override {
    auto type = cast<RankedTensorType>(op.getX().getType());
    SmallVector<int64_t> dims;
    for (int64_t dim : op.getDims()) dims.push_back(*ir::normalize_dim(dim, type.getRank()));
    llvm::sort(dims, std::greater<int64_t>());
    if (dims.size() < 2 || dims.front() - dims.back() == static_cast<int64_t>(dims.size()) - 1) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = op.getX();
    for (int64_t dim : dims) {
      SmallVector<int64_t> to(NnBuilder::shape(x));
      if (op.getKeepdim()) to[dim] = 1;
      else to.erase(to.begin() + dim);
      x = nn.make<nn::MeanOp>(NnBuilder::with_shape(x, to), x, rewriter.getDenseI64ArrayAttr({dim}), op.getKeepdimAttr());
    }
    rewriter.replaceOp(op, x);
    return success();
  }
};

struct LowerAttention : OpRewritePattern<nn::MultiheadAttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MultiheadAttentionOp op, PatternRewriter& rewriter) const override {
    lower_attention(op, rewriter);
    return success();
  }
};

struct NnLowerLayers : impl::NnLowerLayersBase<NnLowerLayers> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerAttention, SplitMean, AddSequenceBatch<nn::LstmOp>, AddSequenceBatch<nn::GruOp>, Forward<nn::DropoutOp>, Forward<nn::IdentityOp>, AddBatch>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
