// Shapes, splitting and gradients of pooling. Formulas: runtime/ops/pooling.cpp.
#include "ir/Nn/Operands.h"
#include "ir/Nn/ShapeRules.h"
#include "runtime/ops/pooling.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

LogicalResult pool_shapes(Operation* op, ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_static_image(op, operands[0], spatial_dims(*op).value_or(2)))) return failure();
  return library_shapes(op, operands, results);
}

/// For a layer over one, two or three spatial dimensions; after nn-lower-layers only two remain.
std::optional<int64_t> layer_split(Operation* op, int64_t rank, int64_t dim) {
  return dim < rank - spatial_dims(*op).value_or(2) ? std::optional<int64_t>(dim) : std::nullopt;
}

/// [N, C, s…] or [C, s…].
LogicalResult require_image(Operation* op, const TensorShape& x, int64_t spatial) {
  if (x.rank() == spatial + 1 || x.rank() == spatial + 2) return success();
  return op->emitError("expects an input of ")
         << spatial + 1 << " or " << spatial + 2 << " dimensions, but got " << ir::to_string(x);
}

LogicalResult adaptive_shapes(Operation* op, ArrayRef<int64_t> sizes, ArrayRef<TensorShape> operands,
                              SmallVectorImpl<TensorShape>& results) {
  TensorShape y = operands[0];
  const auto spatial = static_cast<int64_t>(sizes.size());
  if (failed(require_image(op, y, spatial)) || failed(require_float(op, operands)) ||
      failed(require_static_image(op, y, spatial)))
    return failure();
  for (auto [dim, size] : llvm::zip(MutableArrayRef(y.dims).take_back(spatial), sizes)) {
    if (dim == Extent(0)) return op->emitError("can't pool ") << ir::to_string(operands[0]) << ", which has no elements";
    if (size >= 0) dim = Extent(size);
  }
  results.push_back(y);
  return success();
}

mlir::Type position_type(Operation* op) { return IntegerType::get(op->getContext(), 64); }

std::optional<int64_t> before_image(int64_t rank, size_t spatial, int64_t dim) {
  return dim < rank - static_cast<int64_t>(spatial) ? std::optional<int64_t>(dim) : std::nullopt;
}

std::optional<int64_t> outer_split(int64_t rank, int64_t dim) {
  return dim < rank - 2 ? std::optional<int64_t>(dim) : std::nullopt;
}

}  // namespace

LogicalResult MaxPoolOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_shapes(*this, operands, results);
}
LogicalResult AvgPoolOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_shapes(*this, operands, results);
}
LogicalResult AdaptiveAvgPoolOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_shapes(*this, operands, results);
}
LogicalResult AdaptiveMaxPoolOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return adaptive_shapes(*this, getOutputSize(), operands, results);
}
std::optional<int64_t> AdaptiveMaxPoolOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return before_image(rank, getOutputSize().size(), dim);
}

LogicalResult MaxPoolPositionsOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  const ArrayRef<int64_t> size = getKernelSize(), padding = getPadding();
  if (failed(require_float(*this, operands)) || failed(require_static_image(*this, x, static_cast<int64_t>(size.size()))))
    return failure();
  auto y = sheaf::pooled_shape(sheaf::Shape(x.dims.begin(), x.dims.end()),
                               sheaf::sliding_windows(size, getStride(), getDilation(), padding, padding, getCeilMode()), true);
  if (!y) return emitError(y.error().message());
  results.push_back({position_type(*this), {y->begin(), y->end()}});
  return success();
}
std::optional<int64_t> MaxPoolPositionsOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return before_image(rank, getKernelSize().size(), dim);
}
LogicalResult AdaptiveMaxPoolPositionsOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(adaptive_shapes(*this, getOutputSize(), operands, results))) return failure();
  results[0].element = position_type(*this);
  return success();
}
std::optional<int64_t> AdaptiveMaxPoolPositionsOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return before_image(rank, getOutputSize().size(), dim);
}

LogicalResult MaxUnpoolOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  TensorShape y = operands[0];
  const auto spatial = static_cast<int64_t>(getKernelSize().size());
  if (failed(require_float(*this, y)) || failed(require_image(*this, y, spatial)) ||
      failed(require_static_image(*this, y, spatial)))
    return failure();
  if (operands[1].element != position_type(*this))
    return emitError("expects positions of int64, but they are ") << dtype_name(operands[1].element);
  if (failed(require_fit(*this, {operands[1].element, y.dims}, operands[1], "positions"))) return failure();
  for (int64_t i = 0; i < spatial; ++i) {
    Extent& size = y.dims[y.rank() - spatial + i];
    if (!size.is_static()) continue;
    const int64_t stride = getStride()[i], least = (size.constant - 1) * stride - 2 * getPadding()[i] + getKernelSize()[i];
    const int64_t wanted = getOutputSize().empty() ? least : getOutputSize()[i];
    // As torch.nn.modules.pooling's _unpool_output_size.
    if (wanted <= 0 || std::abs(wanted - least) >= stride)
      return emitError("can't make dimension ")
             << y.rank() - spatial + i << " of " << ir::to_string(operands[0]) << " one of " << wanted << "; it takes "
             << std::max<int64_t>(least - stride + 1, 1) << " to " << least + stride - 1;
    size = Extent(wanted);
  }
  results.push_back(y);
  return success();
}
std::optional<int64_t> MaxUnpoolOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return before_image(rank, getKernelSize().size(), dim);
}
std::optional<int64_t> MaxPoolOp::splitDim(unsigned, int64_t rank, int64_t dim) { return layer_split(*this, rank, dim); }
std::optional<int64_t> AvgPoolOp::splitDim(unsigned, int64_t rank, int64_t dim) { return layer_split(*this, rank, dim); }
std::optional<int64_t> AdaptiveAvgPoolOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return layer_split(*this, rank, dim);
}

// Training.

LogicalResult MaxPoolTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_shapes(*this, operands, results);
}
LogicalResult MaxPoolBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_shapes(*this, operands, results);
}
LogicalResult AvgPoolBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_shapes(*this, operands, results);
}
LogicalResult AdaptiveAvgPoolBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_shapes(*this, operands, results);
}
std::optional<int64_t> MaxPoolTrainOp::splitDim(unsigned, int64_t rank, int64_t dim) { return outer_split(rank, dim); }
std::optional<int64_t> MaxPoolBackwardOp::splitDim(unsigned, int64_t rank, int64_t dim) { return outer_split(rank, dim); }
std::optional<int64_t> AvgPoolBackwardOp::splitDim(unsigned, int64_t rank, int64_t dim) { return outer_split(rank, dim); }
std::optional<int64_t> AdaptiveAvgPoolBackwardOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return outer_split(rank, dim);
}

// Gradients.

/// x's height and width.
static DenseI64ArrayAttr image_size(Value x) {
  return Builder(x.getContext()).getDenseI64ArrayAttr(GradientBuilder::type(x).getShape().take_back(2));
}

void MaxPoolTrainOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (gradients.needed(0u))
    operands[0] = gradients.make<MaxPoolBackwardOp>(getX().getType(), results[0], gradients.forward(getWorkspace()),
                                                    getKernelSizeAttr(), getStrideAttr(), getPaddingAttr(), getDilationAttr(),
                                                    getCeilModeAttr(), image_size(getX()));
}
void AvgPoolOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (gradients.needed(0u))
    operands[0] = gradients.make<AvgPoolBackwardOp>(getX().getType(), results[0], getKernelSizeAttr(), getStrideAttr(),
                                                    getPaddingAttr(), getCeilModeAttr(), getCountIncludePadAttr(),
                                                    getDivisorOverrideAttr(), image_size(getX()));
}
void AdaptiveAvgPoolOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (gradients.needed(0u))
    operands[0] = gradients.make<AdaptiveAvgPoolBackwardOp>(getX().getType(), results[0], image_size(getX()));
}
