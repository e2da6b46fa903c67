// Shapes, splitting and gradients of pooling. Formulas: runtime/ops/pooling.cpp.
#include "ir/Nn/Operands.h"
#include "ir/Nn/ShapeRules.h"

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
  TensorShape y = operands[0];
  const auto spatial = static_cast<int64_t>(getOutputSize().size());
  if (y.rank() != spatial + 1 && y.rank() != spatial + 2)
    return emitError("expects an input of ")
           << spatial + 1 << " or " << spatial + 2 << " dimensions, but got " << ir::to_string(y);
  if (failed(require_float(*this, operands)) || failed(require_static_image(*this, y, spatial))) return failure();
  for (auto [dim, size] : llvm::zip(MutableArrayRef(y.dims).take_back(spatial), getOutputSize())) {
    if (dim == Extent(0)) return emitError("can't pool ") << ir::to_string(operands[0]) << ", which has no elements";
    if (size >= 0) dim = Extent(size);
  }
  results.push_back(y);
  return success();
}
std::optional<int64_t> AdaptiveMaxPoolOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return dim < rank - static_cast<int64_t>(getOutputSize().size()) ? std::optional<int64_t>(dim) : std::nullopt;
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
