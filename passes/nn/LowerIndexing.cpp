// Lowers slices, splits and borders, as PyTorch defines them, to nn.slice, nn.pad, nn.concat and views.
#include "ir/Nn/Indexing.h"
#include "ir/Nn/Lengths.h"
#include "passes/nn/LowerPatterns.h"
#include "passes/nn/NnBuilder.h"

namespace sheaf::passes {

using namespace mlir;

namespace {

int64_t dim_from_front(int64_t dim, mlir::Value x) {
  return *ir::normalize_dim(dim, static_cast<int64_t>(NnBuilder::shape(x).size()));
}

struct LowerStridedSlice : OpRewritePattern<nn::StridedSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::StridedSliceOp op, PatternRewriter& rewriter) const override {
    if (op.getX().getType() == op.getY().getType()) {  // everything; may depend on the batch
      rewriter.replaceOp(op, op.getX());
      return success();
    }
    const int64_t dim = dim_from_front(op.getDim(), op.getX());
    if (auto length = op->getAttr(nn::kLength)) {
      auto slice = rewriter.create<nn::SliceOp>(op.getLoc(), op.getY().getType(), op.getX(), rewriter.getI64IntegerAttr(dim),
                                                /*begin=*/rewriter.getI64IntegerAttr(0), /*size=*/rewriter.getI64IntegerAttr(0),
                                                /*step=*/IntegerAttr());
      slice->setAttr(nn::kLength, length);
      rewriter.replaceOp(op, slice);
      return success();
    }
    const nn::Range range = nn::resolved(op, NnBuilder::shape(op.getX())[dim]);
    NnBuilder nn{rewriter, op.getLoc()};
    rewriter.replaceOp(op, nn.slice(op.getX(), dim, range.begin, range.size, range.step));
    return success();
  }
};

struct LowerSplit : OpRewritePattern<nn::SplitOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SplitOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    const int64_t dim = dim_from_front(op.getDim(), op.getX());
    const SmallVector<int64_t> sizes = nn::part_sizes(op, NnBuilder::shape(op.getX())[dim]);
    SmallVector<mlir::Value> parts;
    int64_t begin = 0;
    for (unsigned i = 0; i < op.getNumResults(); begin += sizes[i++])
      parts.push_back(nn.slice(op.getX(), dim, begin, sizes[i]));
    rewriter.replaceOp(op, parts);
    return success();
  }
};

struct LowerRoll : OpRewritePattern<nn::RollOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::RollOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = op.getX();
    for (auto [shift, dim] : llvm::zip(op.getShifts(), op.getDims())) {
      const int64_t at = dim_from_front(dim, x), size = NnBuilder::shape(x)[at];
      const int64_t moved = size ? ((shift % size) + size) % size : 0;
      if (moved != 0) x = nn.concat({nn.slice(x, at, size - moved, moved), nn.slice(x, at, 0, size - moved)}, at);
    }
    rewriter.replaceOp(op, x);
    return success();
  }
};

struct LowerFlip : OpRewritePattern<nn::FlipOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::FlipOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = op.getX();
    for (int64_t dim : op.getDims()) {
      const int64_t at = dim_from_front(dim, x), size = NnBuilder::shape(x)[at];
      if (size > 1) x = nn.slice(x, at, size - 1, size, -1);
    }
    rewriter.replaceOp(op, x);
    return success();
  }
};

struct LowerBorder : OpRewritePattern<nn::BorderOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::BorderOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = op.getX();
    const auto margins = nn::margins(op, static_cast<int64_t>(NnBuilder::shape(x).size()));
    for (size_t i = 0; i < margins.size(); ++i) {
      const auto dim = static_cast<int64_t>(i);
      x = op.getMode() == "constant" ? around(nn, x, dim, margins[i], op.getValueAttr())
                                     : bordered(nn, x, dim, margins[i].before, margins[i].after, op.getMode());
    }
    rewriter.replaceOp(op, x);
    return success();
  }

  /// Negative margins crop.
  static mlir::Value around(const NnBuilder& nn, mlir::Value x, int64_t dim, nn::Margin margin, FloatAttr value) {
    if (margin.before == 0 && margin.after == 0) return x;
    const int64_t cut = std::max<int64_t>(0, -margin.before), before = std::max<int64_t>(0, margin.before);
    const int64_t size = NnBuilder::shape(x)[dim], left = size - cut - std::max<int64_t>(0, -margin.after);
    if (left < size) x = nn.slice(x, dim, cut, left);
    return nn.pad(x, dim, before, before + left + std::max<int64_t>(0, margin.after), value);
  }
};

/// For a table (a tensor whose sizes don't depend on the batch) along its first dimension: an embedding.
struct LookupInTable : OpRewritePattern<nn::IndexSelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::IndexSelectOp op, PatternRewriter& rewriter) const override {
    auto x = cast<RankedTensorType>(op.getX().getType());
    if (dim_from_front(op.getDim(), op.getX()) != 0 || !x.hasStaticShape() || !x.getElementType().isF32()) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    const int64_t entries = x.getDimSize(0), width = x.getNumElements() / entries;
    mlir::Value table = nn.reshape(op.getX(), {entries, width});
    SmallVector<int64_t> shape(NnBuilder::shape(op.getIndex()));
    shape.push_back(width);
    mlir::Value y =
        nn.make<nn::EmbeddingOp>(RankedTensorType::get(shape, x.getElementType()), op.getIndex(), table, IntegerAttr());
    rewriter.replaceOp(op, nn.reshape(y, SmallVector<int64_t>(NnBuilder::shape(op.getY()))));
    return success();
  }
};

/// Views.
template <typename Op>
struct LowerToReshape : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    rewriter.replaceOp(op, nn.reshape(op.getX(), SmallVector<int64_t>(NnBuilder::shape(op.getY()))));
    return success();
  }
};

/// An entry along `dim`, repeated `times`.
mlir::Value repeated(const NnBuilder& nn, mlir::Value entry, int64_t dim, int64_t times) {
  if (times == 1) return entry;
  SmallVector<int64_t> to(NnBuilder::shape(entry)), sizes(to.size(), -1);
  to[dim] = sizes[dim] = times;
  return nn.make<nn::ExpandOp>(NnBuilder::with_shape(entry, to), entry, /*like=*/mlir::Value(),
                               nn.builder.getDenseI64ArrayAttr(sizes), nn.builder.getI64IntegerAttr(0));
}

}  // namespace

mlir::Value bordered(const NnBuilder& nn, mlir::Value x, int64_t dim, int64_t before, int64_t after, StringRef mode) {
  const int64_t size = NnBuilder::shape(x)[dim];
  if (before == 0 && after == 0) return x;
  SmallVector<mlir::Value> parts;
  if (mode == "circular") {
    if (before > 0) parts.push_back(nn.slice(x, dim, size - before, before));
    parts.push_back(x);
    if (after > 0) parts.push_back(nn.slice(x, dim, 0, after));
  } else if (mode == "reflect") {
    if (before > 0) parts.push_back(nn.slice(x, dim, before, before, -1));
    parts.push_back(x);
    if (after > 0) parts.push_back(nn.slice(x, dim, size - 2, after, -1));
  } else {
    if (before > 0) parts.push_back(repeated(nn, nn.slice(x, dim, 0, 1), dim, before));
    parts.push_back(x);
    if (after > 0) parts.push_back(repeated(nn, nn.slice(x, dim, size - 1, 1), dim, after));
  }
  return nn.concat(parts, dim);
}

void add_indexing_patterns(RewritePatternSet& patterns) {
  patterns.add<LowerStridedSlice, LowerSplit, LowerRoll, LowerFlip, LowerBorder, LookupInTable, LowerToReshape<nn::UnsqueezeOp>,
               LowerToReshape<nn::SqueezeOp>, LowerToReshape<nn::UnflattenOp>>(patterns.getContext());
}

}  // namespace sheaf::passes
