// Lowers resizing of images to interpolation along one dimension after another, and to views and permutations.
#include "ir/Nn/Resampling.h"
#include "passes/nn/LowerPatterns.h"
#include "passes/nn/NnBuilder.h"

namespace sheaf::passes {

using namespace mlir;

namespace {

struct LowerUpsample : OpRewritePattern<nn::UpsampleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::UpsampleOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = op.getX();
    // The last dimension first: where the image grows, this is the least work.
    for (int64_t i = static_cast<int64_t>(NnBuilder::shape(x).size()) - 2; i-- > 0;) {
      SmallVector<int64_t> to(NnBuilder::shape(x));
      const nn::Resized resized = nn::resized(op, to[i + 2], i);
      const nn::Band band = nn::interpolation(op.getMode(), op.getAlignCorners(), to[i + 2], resized);
      if (is_identity(band, to[i + 2])) continue;
      to[i + 2] = resized.size;
      x = nn.make<nn::ResampleOp>(NnBuilder::with_shape(x, to), x, rewriter.getI64IntegerAttr(i + 2),
                                  rewriter.getDenseI64ArrayAttr(band.starts), rewriter.getDenseF64ArrayAttr(band.weights));
    }
    rewriter.replaceOp(op, x);
    return success();
  }

  static bool is_identity(const nn::Band& band, int64_t size) {
    if (static_cast<int64_t>(band.starts.size()) != size) return false;
    for (int64_t j = 0; j < size; ++j)
      for (int64_t k = 0; k < band.taps(); ++k)
        if (band.weights[j * band.taps() + k] != (band.starts[j] + k == j ? 1 : 0)) return false;
    return true;
  }
};

struct LowerPixelShuffle : OpRewritePattern<nn::PixelShuffleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::PixelShuffleOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    ArrayRef<int64_t> shape = NnBuilder::shape(op.getX());
    const int64_t kept = static_cast<int64_t>(shape.size()) - 3, r = op.getFactor();
    rewriter.replaceOp(op, nn.shuffled(op.getX(), kept, {shape[kept] / (r * r), r, r, shape[kept + 1], shape[kept + 2]},
                                       {0, 3, 1, 4, 2}, op.getY()));
    return success();
  }
};

struct LowerPixelUnshuffle : OpRewritePattern<nn::PixelUnshuffleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::PixelUnshuffleOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    ArrayRef<int64_t> shape = NnBuilder::shape(op.getX());
    const int64_t kept = static_cast<int64_t>(shape.size()) - 3, r = op.getFactor();
    rewriter.replaceOp(op, nn.shuffled(op.getX(), kept, {shape[kept], shape[kept + 1] / r, r, shape[kept + 2] / r, r},
                                       {0, 2, 4, 1, 3}, op.getY()));
    return success();
  }
};

struct LowerChannelShuffle : OpRewritePattern<nn::ChannelShuffleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ChannelShuffleOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    ArrayRef<int64_t> shape = NnBuilder::shape(op.getX());
    const int64_t groups = op.getGroups();
    SmallVector<int64_t> apart = {groups, shape[1] / groups}, order = {1, 0};
    for (size_t i = 2; i < shape.size(); ++i) {
      apart.push_back(shape[i]);
      order.push_back(static_cast<int64_t>(i));
    }
    rewriter.replaceOp(op, nn.shuffled(op.getX(), 1, apart, order, op.getY()));
    return success();
  }
};

}  // namespace

void add_resampling_patterns(RewritePatternSet& patterns) {
  patterns.add<LowerUpsample, LowerPixelShuffle, LowerPixelUnshuffle, LowerChannelShuffle>(patterns.getContext());
}

}  // namespace sheaf::passes
