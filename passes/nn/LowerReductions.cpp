// Lowers reductions and norms to sums, means and element-wise arithmetic.
#include "passes/nn/LowerPatterns.h"
#include "passes/nn/NnBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace sheaf::passes {

using namespace mlir;

namespace {

SmallVector<int64_t> normal_dims(ArrayRef<int64_t> dims, mlir::Value x) {
  SmallVector<int64_t> result;
  for (int64_t dim : dims) result.push_back(*ir::normalize_dim(dim, static_cast<int64_t>(NnBuilder::shape(x).size())));
  return result;
}

SmallVector<int64_t> sizes_without(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims, bool keepdim) {
  SmallVector<int64_t> result;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim))) result.push_back(shape[dim]);
    else if (keepdim) result.push_back(1);
  }
  return result;
}

mlir::Value mean_of(const NnBuilder& nn, mlir::Value x, ArrayRef<int64_t> dims, bool keepdim) {
  return nn.make<nn::MeanOp>(NnBuilder::with_shape(x, sizes_without(NnBuilder::shape(x), dims, keepdim)), x,
                             nn.builder.getDenseI64ArrayAttr(dims), nn.builder.getBoolAttr(keepdim));
}

/// Arithmetic whose result has a's type.
template <typename Op>
mlir::Value like_first(const NnBuilder& nn, mlir::Value a, mlir::Value b) {
  return nn.make<Op>(cast<RankedTensorType>(a.getType()), a, b);
}

/// A sum, mean or extremum over non-adjacent dimensions is taken one dimension after another, the last one first.
template <typename Op>
struct SplitReduction : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    SmallVector<int64_t> dims = normal_dims(op.getDims(), op.getX());
    llvm::sort(dims, std::greater<int64_t>());
    if (dims.size() < 2 || dims.front() - dims.back() == static_cast<int64_t>(dims.size()) - 1) return failure();
    mlir::Value x = op.getX();
    const mlir::Type element = cast<RankedTensorType>(op.getY().getType()).getElementType();
    for (int64_t dim : dims) {
      IRMapping map;
      map.map(op.getX(), x);
      auto one = cast<Op>(rewriter.clone(*op, map));
      one.setDims({dim});
      one.getY().setType(RankedTensorType::get(sizes_without(NnBuilder::shape(x), {dim}, op.getKeepdim()), element));
      x = one.getY();
    }
    rewriter.replaceOp(op, x);
    return success();
  }
};

struct LowerVar : OpRewritePattern<nn::VarOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::VarOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = op.getX();
    const SmallVector<int64_t> dims = normal_dims(op.getDims(), x);
    double count = 1;
    for (int64_t dim : dims) count *= static_cast<double>(NnBuilder::shape(x)[dim]);
    mlir::Value centred = like_first<nn::SubOp>(nn, x, mean_of(nn, x, dims, true));
    mlir::Value squares = mean_of(nn, like_first<nn::MulOp>(nn, centred, centred), dims, op.getKeepdim());
    const double factor = count / (count - op.getCorrection().convertToDouble());
    rewriter.replaceOp(
        op, nn.make<nn::ScaleOp>(cast<RankedTensorType>(squares.getType()), squares, rewriter.getF64FloatAttr(factor)));
    return success();
  }
};

/// x · 1 / √(mean of x² + eps) · weight (Zhang and Sennrich 2019).
struct LowerRmsNorm : OpRewritePattern<nn::RmsNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::RmsNormOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = op.getX();
    const auto rank = static_cast<int64_t>(NnBuilder::shape(x).size());
    const SmallVector<int64_t> dims =
        llvm::to_vector(llvm::seq<int64_t>(rank - static_cast<int64_t>(op.getNormalizedShape().size()), rank));
    mlir::Value mean = mean_of(nn, like_first<nn::MulOp>(nn, x, x), dims, true);
    mlir::Value inverse = nn.make<nn::RsqrtOp>(cast<RankedTensorType>(mean.getType()), mean, op.getEpsAttr());
    mlir::Value y = like_first<nn::MulOp>(nn, x, inverse);
    rewriter.replaceOp(op, op.getWeight() ? like_first<nn::MulOp>(nn, y, op.getWeight()) : y);
    return success();
  }
};

/// The squares of an image's channels are stacked as rows of a one-channel image; a pool averages over neighbours.
struct LowerLocalResponseNorm : OpRewritePattern<nn::LocalResponseNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::LocalResponseNormOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    OpBuilder& b = rewriter;
    mlir::Value x = op.getX();
    ArrayRef<int64_t> shape = NnBuilder::shape(x);
    int64_t places = 1;
    for (int64_t size : shape.drop_front(2)) places *= size;
    const auto size = static_cast<int64_t>(op.getSize());
    const int64_t channels = shape[1], pooled = channels + (size % 2 == 0 ? 1 : 0);
    mlir::Value squares = nn.reshape(like_first<nn::MulOp>(nn, x, x), {shape[0], 1, channels, places});
    mlir::Value mean = nn.make<nn::AvgPoolOp>(NnBuilder::with_shape(x, {shape[0], 1, pooled, places}), squares,
                                              b.getDenseI64ArrayAttr({size, 1}), b.getDenseI64ArrayAttr({1, 1}),
                                              b.getDenseI64ArrayAttr({size / 2, 0}), b.getBoolAttr(false), b.getBoolAttr(true),
                                              b.getI64IntegerAttr(0));
    // An even size has one more neighbour before a channel than after it.
    if (pooled > channels) mean = nn.slice(mean, 2, 0, channels);
    mean = nn.reshape(mean, SmallVector<int64_t>(shape));
    auto function = [&](StringRef name, ValueRange inputs, ArrayRef<double> numbers) -> mlir::Value {
      return nn.make<nn::MapOp>(cast<RankedTensorType>(x.getType()), inputs, b.getStringAttr(name),
                                b.getDenseF64ArrayAttr(numbers));
    };
    mlir::Value scaled = nn.make<nn::ScaleOp>(cast<RankedTensorType>(x.getType()), mean, op.getAlphaAttr());
    mlir::Value sum = function("add", scaled, op.getK().convertToDouble());
    rewriter.replaceOp(op, like_first<nn::DivOp>(nn, x, function("power", sum, op.getBeta().convertToDouble())));
    return success();
  }
};

}  // namespace

void add_reduction_patterns(RewritePatternSet& patterns) {
  patterns.add<SplitReduction<nn::MeanOp>, SplitReduction<nn::SumOp>, SplitReduction<nn::ExtremumOp>, LowerVar, LowerRmsNorm,
               LowerLocalResponseNorm>(patterns.getContext());
}

}  // namespace sheaf::passes
