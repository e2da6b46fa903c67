// Lowers the positions of max pools' maxima to arg_extremum over windows laid out one after another, and max_unpool, which puts
// elements at such positions, to scatter_elements.
#include "passes/nn/LowerPatterns.h"
#include "passes/nn/NnBuilder.h"
#include "passes/nn/PoolWindows.h"

namespace sheaf::passes {

using namespace mlir;

namespace {

/// nn.map of whole numbers.
struct Whole {
  const NnBuilder& nn;

  mlir::Value operator()(mlir::Value x, StringRef function, ArrayRef<double> numbers) const {
    return make({x}, function, numbers);
  }
  mlir::Value operator()(mlir::Value a, StringRef function, mlir::Value b) const { return make({a, b}, function, {}); }
  mlir::Value times(mlir::Value x, int64_t number) const { return number == 1 ? x : (*this)(x, "mul", {double(number)}); }
  mlir::Value plus(mlir::Value x, int64_t number) const { return number == 0 ? x : (*this)(x, "add", {double(number)}); }

 private:
  mlir::Value make(ArrayRef<mlir::Value> operands, StringRef function, ArrayRef<double> numbers) const {
    return nn.make<nn::MapOp>(cast<RankedTensorType>(operands[0].getType()), ValueRange(operands),
                              nn.builder.getStringAttr(function), nn.builder.getDenseF64ArrayAttr(numbers));
  }
};

/// A pool's windows along a dimension, and the element that tap `tap` of window `place` sees, as numbers and as values. The element
/// is `elements` of PoolWindows at [place, tap].
struct SlidingAlong {
  int64_t size, stride, dilation, padding;
  PoolWindows windows;

  SlidingAlong(int64_t size, int64_t places, int64_t taps, int64_t stride, int64_t dilation, int64_t padding)
      : size(size), stride(stride), dilation(dilation), padding(padding), windows{places, taps, {}} {
    for (int64_t place = 0; place < places; ++place)
      for (int64_t tap = 0; tap < taps; ++tap) windows.elements.push_back(inside(place * stride + tap * dilation - padding));
  }

  /// A tap in the padding sees the nearest element that another tap of its window sees; in a window all in the padding, which
  /// few elements and a wide dilation make, any.
  int64_t inside(int64_t at) const {
    if (at < 0) at = (at % dilation + dilation) % dilation;
    const int64_t after = at - (size - 1);
    return std::max<int64_t>(after > 0 ? at - (after + dilation - 1) / dilation * dilation : at, 0);
  }
  mlir::Value element(const Whole& whole, mlir::Value place, mlir::Value tap) const {
    mlir::Value at = whole.plus(whole(whole.times(place, stride), "add", whole.times(tap, dilation)), -padding);
    if (padding > 0)
      at = dilation == 1 ? whole(at, "maximum", {0.0}) : whole(at, "maximum", whole(at, "remainder", {double(dilation)}));
    const int64_t last = (windows.places - 1) * stride + (windows.taps - 1) * dilation - padding;
    if (last < size) return at;
    if (dilation == 1) return whole(at, "minimum", {double(size - 1)});
    mlir::Value before_end = whole.plus(whole.times(at, -1), size - 1);
    mlir::Value nearest = whole.plus(whole.times(whole(before_end, "remainder", {double(dilation)}), -1), size - 1);
    return whole(whole(at, "minimum", nearest), "maximum", {0.0});
  }
};

struct AdaptiveAlong {
  int64_t size;
  PoolWindows windows;

  AdaptiveAlong(int64_t size, int64_t places) : size(size), windows(PoolWindows::adaptive(size, places)) {}

  mlir::Value element(const Whole& whole, mlir::Value place, mlir::Value tap) const {
    const int64_t places = windows.places;
    mlir::Value scaled = whole.times(place, size);
    if (size % places == 0) return whole(whole.times(place, size / places), "add", tap);
    mlir::Value begin = whole(scaled, "floor_divide", {double(places)});
    mlir::Value end = whole(whole.plus(scaled, size + places - 1), "floor_divide", {double(places)});
    return whole(whole(begin, "add", tap), "minimum", whole.plus(end, -1));
  }
};

/// The maxima's positions in x's last dimensions, `along`; `y` is the value to replace.
template <typename Along>
mlir::Value positions(const NnBuilder& nn, mlir::Value x, ArrayRef<Along> along, mlir::Value y) {
  const auto spatial = static_cast<int64_t>(along.size());
  const auto type = cast<RankedTensorType>(y.getType());
  const int64_t first = type.getRank() - spatial;
  SmallVector<int64_t> apart(NnBuilder::shape(x).take_front(first)), together(apart), order, taps_last;
  for (int64_t dim = 0; dim < first; ++dim) order.push_back(dim);
  int64_t taps = 1;
  for (int64_t i = 0; i < spatial; ++i) {
    const PoolWindows& windows = along[i].windows;
    if (!windows.tile(along[i].size)) x = nn.picked(x, first + i, windows.elements);
    apart.append({windows.places, windows.taps});
    together.push_back(windows.places);
    order.push_back(first + 2 * i);
    taps_last.push_back(first + 2 * i + 1);
    taps *= windows.taps;
  }
  order.append(taps_last);
  together.push_back(taps);
  mlir::Value laid_out = nn.reshape(nn.permute(nn.reshape(x, apart), order), together);
  mlir::Value tap = nn.make<nn::ArgExtremumOp>(type, laid_out, nn.builder.getI64IntegerAttr(type.getRank()),
                                               nn.builder.getBoolAttr(false), nn.builder.getBoolAttr(false));
  const Whole whole{nn};
  mlir::Value ones = whole.plus(whole.times(tap, 0), 1), position;
  for (int64_t i = 0; i < spatial; ++i) {
    taps /= along[i].windows.taps;
    mlir::Value counted = nn.make<nn::CumSumOp>(type, ones, nn.builder.getI64IntegerAttr(first + i), UnitAttr());
    mlir::Value own = taps == 1 ? tap : whole(tap, "floor_divide", {double(taps)});
    if (i > 0) own = whole(own, "remainder", {double(along[i].windows.taps)});
    mlir::Value element = along[i].element(whole, whole.plus(counted, -1), own);
    position = position ? whole(whole.times(position, along[i].size), "add", element) : element;
  }
  return position;
}

struct LowerMaxPoolPositions : OpRewritePattern<nn::MaxPoolPositionsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MaxPoolPositionsOp op, PatternRewriter& rewriter) const override {
    const size_t spatial = op.getKernelSize().size();
    ArrayRef<int64_t> x = NnBuilder::shape(op.getX()).take_back(spatial), y = NnBuilder::shape(op.getY()).take_back(spatial);
    SmallVector<SlidingAlong> along;
    for (size_t i = 0; i < spatial; ++i)
      along.emplace_back(x[i], y[i], op.getKernelSize()[i], op.getStride()[i], op.getDilation()[i], op.getPadding()[i]);
    rewriter.replaceOp(op, positions<SlidingAlong>(NnBuilder{rewriter, op.getLoc()}, op.getX(), along, op.getY()));
    return success();
  }
};

struct LowerAdaptiveMaxPoolPositions : OpRewritePattern<nn::AdaptiveMaxPoolPositionsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AdaptiveMaxPoolPositionsOp op, PatternRewriter& rewriter) const override {
    const size_t spatial = op.getOutputSize().size();
    ArrayRef<int64_t> x = NnBuilder::shape(op.getX()).take_back(spatial), y = NnBuilder::shape(op.getY()).take_back(spatial);
    SmallVector<AdaptiveAlong> along;
    for (size_t i = 0; i < spatial; ++i) along.emplace_back(x[i], y[i]);
    rewriter.replaceOp(op, positions<AdaptiveAlong>(NnBuilder{rewriter, op.getLoc()}, op.getX(), along, op.getY()));
    return success();
  }
};

struct LowerMaxUnpool : OpRewritePattern<nn::MaxUnpoolOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MaxUnpoolOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    const size_t spatial = op.getKernelSize().size();
    SmallVector<int64_t> flat(NnBuilder::shape(op.getX()).drop_back(spatial));
    const auto dim = static_cast<int64_t>(flat.size());
    auto elements = [&](mlir::Value image) {
      int64_t count = 1;
      for (int64_t size : NnBuilder::shape(image).take_back(spatial)) count *= size;
      return count;
    };
    flat.push_back(elements(op.getX()));
    mlir::Value x = nn.reshape(op.getX(), flat), places = nn.reshape(op.getPositions(), flat);
    // Zeros of the positions' shape: x may have a NaN.
    mlir::Value zero = Whole{nn}.times(nn.slice(places, dim, 0, 1), 0);
    auto type = cast<RankedTensorType>(op.getX().getType());
    mlir::Value zeros =
        nn.pad(nn::cast_to(rewriter, op.getLoc(), zero, type.getElementType()), dim, 0, elements(op.getY()), FloatAttr());
    mlir::Value y = nn.make<nn::ScatterElementsOp>(cast<RankedTensorType>(zeros.getType()), places, zeros, x,
                                                   rewriter.getI64IntegerAttr(dim), UnitAttr(), rewriter.getF64FloatAttr(0));
    rewriter.replaceOp(op, nn.reshape(y, SmallVector<int64_t>(NnBuilder::shape(op.getY()))));
    return success();
  }
};

}  // namespace

void add_pool_position_patterns(RewritePatternSet& patterns) {
  patterns.add<LowerMaxPoolPositions, LowerAdaptiveMaxPoolPositions, LowerMaxUnpool>(patterns.getContext());
}

}  // namespace sheaf::passes
