// Lowers pools and convolutions over one or three spatial dimensions to two.
#include "passes/nn/LowerPatterns.h"
#include "passes/nn/NnBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace sheaf::passes {

using namespace mlir;

namespace {

int64_t product(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) ? ShapedType::kDynamic : a * b;
}

/// The neutral value of an attribute that has an entry for each spatial dimension.
std::optional<int64_t> neutral(StringRef attribute) {
  if (attribute == "kernel_size" || attribute == "stride" || attribute == "dilation") return 1;
  if (attribute == "padding" || attribute == "output_padding") return 0;
  if (attribute == "output_size") return -1;
  return std::nullopt;
}

/// A copy of `op` on `operands` with a result of `shape`; its per-dimension attributes are those at `dims` (-1: the neutral
/// value).
mlir::Value with_dims(Operation* op, ArrayRef<mlir::Value> operands, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape,
                      RewriterBase& rewriter) {
  IRMapping map;
  for (auto [from, to] : llvm::zip(op->getOperands(), operands)) map.map(from, to);
  Operation* made = rewriter.clone(*op, map);
  for (NamedAttribute entry : op->getAttrs()) {
    const auto none = neutral(entry.getName());
    auto list = dyn_cast<DenseI64ArrayAttr>(entry.getValue());
    if (!none || !list) continue;
    SmallVector<int64_t> picked;
    for (int64_t dim : dims) picked.push_back(dim < 0 ? *none : list[dim]);
    made->setAttr(entry.getName(), rewriter.getDenseI64ArrayAttr(picked));
  }
  made->getResult(0).setType(NnBuilder::with_shape(op->getResult(0), shape));
  return made->getResult(0);
}

/// [N, C, L] as [N, C, 1, L].
template <typename Op>
struct LineAsImage : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    ArrayRef<int64_t> x = NnBuilder::shape(op.getX()), y = NnBuilder::shape(op.getY());
    if (spatial_dims(op) != 1 || x.size() != 3) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    SmallVector<mlir::Value> operands(op->getOperands());
    operands[0] = nn.reshape(op.getX(), {x[0], x[1], 1, x[2]});
    if constexpr (std::is_same_v<Op, nn::ConvTransposeOp>) {
      ArrayRef<int64_t> weight = NnBuilder::shape(op.getWeight());
      operands[1] = nn.reshape(op.getWeight(), {weight[0], weight[1], 1, weight[2]});
    }
    mlir::Value made = with_dims(op, operands, {-1, 0}, {y[0], y[1], 1, y[2]}, rewriter);
    rewriter.replaceOp(op, nn.reshape(made, SmallVector<int64_t>(y)));
    return success();
  }
  static int64_t spatial_dims(Op op) {
    if constexpr (std::is_same_v<Op, nn::ConvTransposeOp>) return static_cast<int64_t>(op.getStride().size());
    else if constexpr (std::is_same_v<Op, nn::AdaptiveAvgPoolOp>) return static_cast<int64_t>(op.getOutputSize().size());
    else return static_cast<int64_t>(op.getKernelSize().size());
  }
};

/// A pool of [N, C, D, H, W] is a pool of [N, C·D, H, W], then one of [N, C, D, H'·W'] along D.
template <typename Op>
struct VolumeByImages : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    ArrayRef<int64_t> x = NnBuilder::shape(op.getX()), y = NnBuilder::shape(op.getY());
    if (LineAsImage<Op>::spatial_dims(op) != 3 || x.size() != 5) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value image = nn.reshape(op.getX(), {x[0], product(x[1], x[2]), x[3], x[4]});
    image = with_dims(op, {image}, {1, 2}, {x[0], product(x[1], x[2]), y[3], y[4]}, rewriter);
    if constexpr (std::is_same_v<Op, nn::AvgPoolOp>)  // sums first, if the divisor is given
      if (op.getDivisorOverride() != 0) image.getDefiningOp<nn::AvgPoolOp>().setDivisorOverride(1);
    mlir::Value depth = nn.reshape(image, {x[0], x[1], x[2], product(y[3], y[4])});
    depth = with_dims(op, {depth}, {0, -1}, {x[0], x[1], y[2], product(y[3], y[4])}, rewriter);
    rewriter.replaceOp(op, nn.reshape(depth, SmallVector<int64_t>(y)));
    return success();
  }
};

/// A convolution of [N, I, D, H, W] with k taps along D becomes one of images [N·D', k·I, H, W]: their channels are the inputs
/// of the taps.
struct ConvolutionOfVolume : OpRewritePattern<nn::ConvOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ConvOp op, PatternRewriter& rewriter) const override {
    if (op.getStride().size() != 3 || NnBuilder::shape(op.getX()).size() != 5 || op->hasAttr(nn::kPaddingMode))
      return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    ArrayRef<int64_t> x = NnBuilder::shape(op.getX()), y = NnBuilder::shape(op.getY()), w = NnBuilder::shape(op.getWeight());
    const int64_t groups = op.getGroups(), begin = op.getPaddingBegin()[0], end = op.getPaddingEnd()[0];
    mlir::Value volume = begin + end > 0 ? nn.pad(op.getX(), 2, begin, x[2] + begin + end, FloatAttr()) : op.getX();
    SmallVector<mlir::Value> taps;
    for (int64_t tap = 0; tap < w[2]; ++tap) {
      mlir::Value seen = nn.slice(volume, 2, tap * op.getDilation()[0], y[2], op.getStride()[0]);
      taps.push_back(nn.reshape(seen, {x[0], groups, 1, w[1], y[2], x[3], x[4]}));
    }
    mlir::Value stacked = taps.size() == 1 ? taps[0] : nn.concat(taps, 2);  // [N, groups, k, I/groups, D', H, W]
    mlir::Value images =
        nn.reshape(nn.permute(stacked, {0, 4, 1, 2, 3, 5, 6}), {product(x[0], y[2]), groups * w[2] * w[1], x[3], x[4]});
    mlir::Value weight = nn.reshape(nn.permute(op.getWeight(), {0, 2, 1, 3, 4}), {w[0], w[2] * w[1], w[3], w[4]});
    auto of_image = [&](ArrayRef<int64_t> list) { return rewriter.getDenseI64ArrayAttr(list.drop_front()); };
    mlir::Value made = nn.make<nn::ConvOp>(
        NnBuilder::with_shape(op.getY(), {product(x[0], y[2]), w[0], y[3], y[4]}), images, weight, op.getBias(),
        /*residual=*/mlir::Value(), of_image(op.getStride()), of_image(op.getPaddingBegin()), of_image(op.getPaddingEnd()),
        of_image(op.getDilation()), op.getGroupsAttr(), DictionaryAttr());
    rewriter.replaceOp(op, nn.permute(nn.reshape(made, {x[0], y[2], w[0], y[3], y[4]}), {0, 2, 1, 3, 4}));
    return success();
  }
};

/// A transposed convolution of [N, I, D, H, W] with k taps along D becomes one of images [N·D, I, H, W] with k results for each
/// channel. They are added up, shifted by `dilation` for each tap and by `stride` for each D.
struct ConvTransposeOfVolume : OpRewritePattern<nn::ConvTransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ConvTransposeOp op, PatternRewriter& rewriter) const override {
    if (op.getStride().size() != 3 || NnBuilder::shape(op.getX()).size() != 5) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    ArrayRef<int64_t> x = NnBuilder::shape(op.getX()), y = NnBuilder::shape(op.getY()), w = NnBuilder::shape(op.getWeight());
    const int64_t images = product(x[0], x[2]), taps = w[2], stride = op.getStride()[0], place = y[3] * y[4];
    auto of_image = [&](ArrayRef<int64_t> list) { return rewriter.getDenseI64ArrayAttr(list.drop_front()); };
    mlir::Value image = nn.reshape(nn.permute(op.getX(), {0, 2, 1, 3, 4}), {images, x[1], x[3], x[4]});
    mlir::Value made =
        nn.make<nn::ConvTransposeOp>(NnBuilder::with_shape(op.getY(), {images, y[1] * taps, y[3], y[4]}), image,
                                     nn.reshape(op.getWeight(), {w[0], w[1] * taps, w[3], w[4]}), /*bias=*/mlir::Value(),
                                     of_image(op.getStride()), of_image(op.getPadding()), of_image(op.getOutputPadding()),
                                     of_image(op.getDilation()), op.getGroupsAttr(), DictionaryAttr());
    made = nn.permute(nn.reshape(made, {x[0], x[2], y[1], taps, place}), {0, 2, 3, 1, 4});  // [N, O, k, D, H'·W']
    // Taps and the bias are added up in wide numbers, as a library adds them, and rounded once.
    auto type = cast<RankedTensorType>(op.getY().getType());
    mlir::Type wide = nn::sum_type(type.getElementType());
    mlir::Value sum;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t shift = tap * op.getDilation()[0] - op.getPadding()[0];
      const int64_t begin = std::clamp<int64_t>(-shift, 0, x[2] * stride), at = std::clamp<int64_t>(shift, 0, y[2]);
      const int64_t size = std::min(x[2] * stride - begin, y[2] - at);
      if (size == 0 && (sum || tap + 1 < taps)) continue;  // wholly in the padding
      mlir::Value spread = nn.reshape(nn.slice(made, 2, tap, 1), {x[0], y[1], x[2], 1, place});
      spread = nn.reshape(nn.pad(spread, 3, 0, stride, FloatAttr()), {x[0], y[1], x[2] * stride, place});
      mlir::Value part = nn.pad(nn.slice(spread, 2, begin, size), 2, at, y[2], FloatAttr());
      part = nn::cast_to(rewriter, op.getLoc(), part, wide);
      sum = sum ? nn.make<nn::AddOp>(cast<RankedTensorType>(part.getType()), sum, part) : part;
    }
    mlir::Value result = nn.reshape(sum, SmallVector<int64_t>(y));
    if (op.getBias()) {
      mlir::Value bias = nn.reshape(op.getBias(), {y[1], 1, 1, 1});
      result = nn.make<nn::AddOp>(cast<RankedTensorType>(result.getType()), result, bias);
    }
    rewriter.replaceOp(op, nn::cast_to(rewriter, op.getLoc(), result, type.getElementType()));
    return success();
  }
};

}  // namespace

void add_spatial_patterns(RewritePatternSet& patterns) {
  patterns.add<LineAsImage<nn::MaxPoolOp>, LineAsImage<nn::AvgPoolOp>, LineAsImage<nn::AdaptiveAvgPoolOp>,
               LineAsImage<nn::ConvTransposeOp>, VolumeByImages<nn::MaxPoolOp>, VolumeByImages<nn::AvgPoolOp>,
               VolumeByImages<nn::AdaptiveAvgPoolOp>, ConvolutionOfVolume, ConvTransposeOfVolume>(patterns.getContext());
}

}  // namespace sheaf::passes
