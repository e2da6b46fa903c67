// Lowers windows of images as columns, and columns added up to images, to slices for each position in the window; and windows of
// several sizes to windows of one.
#include "passes/nn/LowerPatterns.h"
#include "passes/nn/NnBuilder.h"
#include "passes/nn/PoolWindows.h"

#include <algorithm>

namespace sheaf::passes {

using namespace mlir;

namespace {

/// The windows' positions along H (0) or W (1).
struct Along {
  int64_t taps, dilation, padding, stride, size, places;

  template <typename Op>
  Along(Op op, size_t i, int64_t size)
      : taps(op.getKernelSize()[i]),
        dilation(op.getDilation()[i]),
        padding(op.getPadding()[i]),
        stride(op.getStride()[i]),
        size(size),
        places((size + 2 * padding - dilation * (taps - 1) - 1) / stride + 1) {}
  /// Windows are adjacent and cover everything.
  bool tiles() const { return dilation == 1 && padding == 0 && stride == taps && places * taps == size; }
};

struct LowerUnfold : OpRewritePattern<nn::UnfoldOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::UnfoldOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    ArrayRef<int64_t> x = NnBuilder::shape(op.getX());
    const Along h(op, 0, x[2]), w(op, 1, x[3]);
    if (h.tiles() && w.tiles()) {
      rewriter.replaceOp(op, nn.shuffled(op.getX(), 2, {h.places, h.taps, w.places, w.taps}, {1, 3, 0, 2}, op.getY()));
      return success();
    }
    mlir::Value image = nn.pad(op.getX(), 2, h.padding, x[2] + 2 * h.padding, FloatAttr());
    image = nn.pad(image, 3, w.padding, x[3] + 2 * w.padding, FloatAttr());
    SmallVector<mlir::Value> columns;
    for (int64_t i = 0; i < h.taps; ++i) {
      mlir::Value rows = nn.slice(image, 2, i * h.dilation, h.places, h.stride);
      for (int64_t j = 0; j < w.taps; ++j) {
        mlir::Value seen = nn.slice(rows, 3, j * w.dilation, w.places, w.stride);
        columns.push_back(nn.reshape(seen, {x[0], x[1], 1, h.places * w.places}));
      }
    }
    mlir::Value joined = columns.size() == 1 ? columns[0] : nn.concat(columns, 2);
    rewriter.replaceOp(op, nn.reshape(joined, SmallVector<int64_t>(NnBuilder::shape(op.getY()))));
    return success();
  }
};

struct LowerFold : OpRewritePattern<nn::FoldOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::FoldOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    ArrayRef<int64_t> y = NnBuilder::shape(op.getY());
    const Along h(op, 0, y[2]), w(op, 1, y[3]);
    if (h.tiles() && w.tiles()) {
      rewriter.replaceOp(op, nn.shuffled(op.getX(), 1, {y[1], h.taps, w.taps, h.places, w.places}, {0, 3, 1, 4, 2}, op.getY()));
      return success();
    }
    mlir::Value columns = nn.reshape(op.getX(), {y[0], y[1], h.taps, w.taps, h.places, w.places});
    mlir::Value sum;
    for (int64_t i = 0; i < h.taps; ++i) {
      mlir::Value row;
      for (int64_t j = 0; j < w.taps; ++j) {
        mlir::Value seen = nn.slice(nn.slice(columns, 2, i, 1), 3, j, 1);
        add(nn, row, placed(nn, nn.reshape(seen, {y[0], y[1], h.places, w.places}), 3, w, j));
      }
      if (row) add(nn, sum, placed(nn, row, 2, h, i));
    }
    rewriter.replaceOp(op, sum);
    return success();
  }

 private:
  static void add(const NnBuilder& nn, mlir::Value& sum, mlir::Value part) {
    if (!part) return;
    sum = sum ? nn.make<nn::AddOp>(cast<RankedTensorType>(part.getType()), sum, part) : part;
  }

  /// x's entries along `dim` under tap number `tap` of each window, with zeros between them. Null if all of them are in the
  /// padding and another tap follows.
  static mlir::Value placed(const NnBuilder& nn, mlir::Value x, int64_t dim, const Along& along, int64_t tap) {
    const int64_t shift = tap * along.dilation - along.padding, spread = along.places * along.stride;
    const int64_t begin = std::clamp<int64_t>(-shift, 0, spread), at = std::clamp<int64_t>(shift, 0, along.size);
    const int64_t size = std::min(spread - begin, along.size - at);
    if (size == 0 && tap + 1 < along.taps) return {};
    SmallVector<int64_t> shape(NnBuilder::shape(x));
    shape.insert(shape.begin() + dim + 1, 1);
    mlir::Value wide = nn.pad(nn.reshape(x, shape), dim + 1, 0, along.stride, FloatAttr());
    shape.erase(shape.begin() + dim + 1);
    shape[dim] = spread;
    return nn.pad(nn.slice(nn.reshape(wide, shape), dim, begin, size), dim, at, along.size, FloatAttr());
  }
};

/// An adaptive max pool becomes a max pool, whose windows are all alike: those that differ are laid out one after another first.
struct LowerAdaptiveMaxPool : OpRewritePattern<nn::AdaptiveMaxPoolOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::AdaptiveMaxPoolOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = op.getX();
    ArrayRef<int64_t> y = NnBuilder::shape(op.getY());
    const size_t spatial = op.getOutputSize().size(), first = y.size() - spatial;
    SmallVector<int64_t> kernel;
    for (size_t dim = first; dim < y.size(); ++dim) {
      const int64_t in = NnBuilder::shape(x)[dim];
      const PoolWindows windows = PoolWindows::adaptive(in, y[dim]);
      kernel.push_back(windows.taps);
      if (!windows.tile(in)) x = nn.picked(x, static_cast<int64_t>(dim), windows.elements);
    }
    if (llvm::all_of(kernel, [](int64_t size) { return size == 1; })) {
      rewriter.replaceOp(op, x);
      return success();
    }
    const DenseI64ArrayAttr windows = rewriter.getDenseI64ArrayAttr(kernel);
    rewriter.replaceOpWithNewOp<nn::MaxPoolOp>(
        op, op.getY().getType(), x, windows, windows, rewriter.getDenseI64ArrayAttr(SmallVector<int64_t>(spatial, 0)),
        rewriter.getDenseI64ArrayAttr(SmallVector<int64_t>(spatial, 1)), rewriter.getBoolAttr(false));
    return success();
  }
};

}  // namespace

void add_window_patterns(RewritePatternSet& patterns) {
  patterns.add<LowerUnfold, LowerFold, LowerAdaptiveMaxPool>(patterns.getContext());
}

}  // namespace sheaf::passes
