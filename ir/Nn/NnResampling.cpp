// Shapes, splitting and the dual of resampling.
#include "ir/Nn/Resampling.h"
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

LogicalResult UpsampleOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  TensorShape y = operands[0];
  const int64_t spatial = y.rank() - 2, given = static_cast<int64_t>(std::max(getSize().size(), getScaleFactor().size()));
  if (failed(require_float(*this, operands))) return failure();
  const int64_t wanted = spatial_of(getMode());
  if (spatial < 1 || spatial > 3 || (wanted > 0 && spatial != wanted))
    return emitError("expects an input [N, C, s…] with ")
           << (wanted > 0 ? std::to_string(wanted) : "1 to 3") << " spatial sizes for mode '" << getMode() << "', but got "
           << ir::to_string(y);
  if (given != 1 && given != spatial)
    return emitError("expects one size or scale factor, or ") << spatial << ", but got " << given;
  if (failed(require_static_image(*this, y, spatial))) return failure();
  for (int64_t i = 0; i < spatial; ++i) {
    if (!y.dims[i + 2].is_static()) continue;
    const int64_t size = resized(*this, y.dims[i + 2].constant, i).size;
    if (size < 1 || y.dims[i + 2].constant < 1) return emitError("leaves nothing of ") << ir::to_string(operands[0]);
    y.dims[i + 2] = Extent(size);
  }
  results.push_back(y);
  return success();
}
std::optional<int64_t> UpsampleOp::splitDim(unsigned, int64_t, int64_t dim) {
  return dim < 2 ? std::optional<int64_t>(dim) : std::nullopt;
}

LogicalResult ResampleOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  TensorShape y = operands[0];
  auto dim = valid_dim(*this, getDim(), y);
  if (!dim || failed(require_float(*this, operands))) return failure();
  const int64_t count = static_cast<int64_t>(getStarts().size()), weights = static_cast<int64_t>(getWeights().size());
  if (count < 1 || weights < count || weights % count) return emitError("expects a row of weights for each entry");
  if (y.dims[*dim].is_static())
    for (int64_t start : getStarts())
      if (start < 0 || start + weights / count > y.dims[*dim].constant)
        return emitError("reads beyond dimension ") << *dim << " of " << ir::to_string(y);
  y.dims[*dim] = Extent(count);
  results.push_back(y);
  return success();
}
std::optional<int64_t> ResampleOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return ir::normalize_dim(getDim(), rank) == dim ? std::nullopt : std::optional<int64_t>(dim);
}
void ResampleOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (!gradients.needed(0u)) return;
  auto x = cast<RankedTensorType>(getX().getType());
  const int64_t dim = *ir::normalize_dim(getDim(), x.getRank());
  const Band dual = transposed({SmallVector<int64_t>(getStarts()), SmallVector<double>(getWeights())}, x.getDimSize(dim));
  operands[0] = gradients.make<ResampleOp>(x, results[0], gradients.builder.getI64IntegerAttr(dim),
                                           gradients.builder.getDenseI64ArrayAttr(dual.starts),
                                           gradients.builder.getDenseF64ArrayAttr(dual.weights));
}

static LogicalResult require_rank(Operation* op, const TensorShape& x, int64_t least) {
  if (x.rank() >= least) return success();
  return op->emitError("expects an input of at least ") << least << " dimensions, but got " << ir::to_string(x);
}

LogicalResult PixelShuffleOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  TensorShape y = operands[0];
  const int64_t factor = getFactor(), rank = y.rank();
  if (failed(require_rank(*this, y, 3)) || failed(require_static_image(*this, y, 3))) return failure();
  if (y.dims[rank - 3].is_static() && y.dims[rank - 3].constant % (factor * factor))
    return emitError("expects channels divisible by ") << factor * factor << ", but the input is " << ir::to_string(y);
  if (y.dims[rank - 3].is_static()) y.dims[rank - 3] = Extent(y.dims[rank - 3].constant / (factor * factor));
  for (int64_t i = rank - 2; i < rank; ++i) y.dims[i] = y.dims[i] * factor;
  results.push_back(y);
  return success();
}
LogicalResult PixelUnshuffleOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  TensorShape y = operands[0];
  const int64_t factor = getFactor(), rank = y.rank();
  if (failed(require_rank(*this, y, 3)) || failed(require_static_image(*this, y, 3))) return failure();
  for (int64_t i = rank - 2; i < rank; ++i) {
    if (y.dims[i].is_static() && y.dims[i].constant % factor)
      return emitError("expects height and width divisible by ")
             << factor << ", but the input is " << ir::to_string(operands[0]);
    if (y.dims[i].is_static()) y.dims[i] = Extent(y.dims[i].constant / factor);
  }
  y.dims[rank - 3] = y.dims[rank - 3] * (factor * factor);
  results.push_back(y);
  return success();
}
LogicalResult ChannelShuffleOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (failed(require_rank(*this, x, 3)) || failed(require_static_image(*this, x, x.rank() - 1))) return failure();
  if (x.dims[1].is_static() && x.dims[1].constant % static_cast<int64_t>(getGroups()))
    return emitError("expects channels divisible by ") << getGroups() << " groups, but the input is " << ir::to_string(x);
  results.push_back(x);
  return success();
}
std::optional<int64_t> PixelShuffleOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return dim < rank - 3 ? std::optional<int64_t>(dim) : std::nullopt;
}
std::optional<int64_t> PixelUnshuffleOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return dim < rank - 3 ? std::optional<int64_t>(dim) : std::nullopt;
}
std::optional<int64_t> ChannelShuffleOp::splitDim(unsigned, int64_t, int64_t dim) {
  return dim == 1 ? std::nullopt : std::optional<int64_t>(dim);
}

/// The number of windows along H (`at` 0) or W (1), at least 1.
template <typename Op>
static FailureOr<int64_t> places_along(Op op, int64_t size, size_t at) {
  for (ArrayRef<int64_t> list : {op.getKernelSize(), op.getDilation(), op.getPadding(), op.getStride()})
    if (list.size() != 2) return op.emitError("expects two numbers of each argument");
  const int64_t span = op.getDilation()[at] * (op.getKernelSize()[at] - 1) + 1;
  const int64_t room = size + 2 * op.getPadding()[at] - span;
  if (room < 0) return op.emitError("has a window of ") << span << " in a size of " << size + 2 * op.getPadding()[at];
  return room / op.getStride()[at] + 1;
}

LogicalResult UnfoldOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (x.rank() != 4) return emitError("expects an input [N, C, H, W], but got ") << ir::to_string(x);
  if (failed(require_float(*this, operands)) || failed(require_static_image(*this, x, 3))) return failure();
  TensorShape y{x.element, {x.dims[0], x.dims[1], Extent(1)}};
  int64_t places = 1;
  for (size_t i = 0; i < 2; ++i) {
    if (!x.dims[i + 2].is_static()) continue;
    FailureOr<int64_t> along = places_along(*this, x.dims[i + 2].constant, i);
    if (failed(along)) return failure();
    places *= *along;
    y.dims[1] = y.dims[1] * getKernelSize()[i];
  }
  y.dims[2] = Extent(places);
  results.push_back(y);
  return success();
}
std::optional<int64_t> UnfoldOp::splitDim(unsigned, int64_t, int64_t dim) {
  return dim == 0 ? std::optional<int64_t>(0) : std::nullopt;
}

LogicalResult FoldOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (x.rank() != 3 || getOutputSize().size() != 2)
    return emitError("expects columns [N, C·kh·kw, L] and an output size of two numbers, but got ") << ir::to_string(x);
  if (failed(require_float(*this, operands)) || failed(require_static_image(*this, x, 2))) return failure();
  int64_t places = 1, taps = 1;
  for (size_t i = 0; i < 2; ++i) {
    FailureOr<int64_t> along = places_along(*this, getOutputSize()[i], i);
    if (failed(along)) return failure();
    places *= *along;
    taps *= getKernelSize()[i];
  }
  if (x.dims[2].is_static() && x.dims[2].constant != places)
    return emitError("has ") << places << " windows, but the columns are " << ir::to_string(x);
  if (x.dims[1].is_static() && x.dims[1].constant % taps)
    return emitError("expects channels times ") << taps << ", but the columns are " << ir::to_string(x);
  results.push_back({x.element,
                     {x.dims[0], x.dims[1].is_static() ? Extent(x.dims[1].constant / taps) : x.dims[1],
                      Extent(getOutputSize()[0]), Extent(getOutputSize()[1])}});
  return success();
}
std::optional<int64_t> FoldOp::splitDim(unsigned, int64_t, int64_t dim) {
  return dim == 0 ? std::optional<int64_t>(0) : std::nullopt;
}
