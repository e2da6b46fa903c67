// Shapes, splitting and folding of element-wise ops. Their scalar definitions stand in NnScalar.cpp.
#include "ir/Nn/Nn.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

/// Element-wise arithmetic is defined on float32; other element types have no kernel.
LogicalResult require_float(Operation* op, ArrayRef<TensorShape> operands) {
  for (const TensorShape& shape : operands)
    if (!isa<FloatType>(shape.element))
      return op->emitError("expects floating-point inputs, but one has elements of type ") << shape.element;
  return success();
}

LogicalResult same_shape(Operation* op, ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_float(op, operands))) return failure();
  results.push_back(operands[0]);
  return success();
}

/// torch.broadcast_tensors: dimensions aligned at the end, a size of 1 stretches.
LogicalResult broadcast(Operation* op, ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_float(op, operands))) return failure();
  const TensorShape &a = operands[0], &b = operands[1];
  TensorShape y{a.element, {}};
  y.dims.resize(std::max(a.rank(), b.rank()));
  for (int64_t i = 0; i < y.rank(); ++i) {
    int64_t ia = i - (y.rank() - a.rank()), ib = i - (y.rank() - b.rank());
    if (ia < 0 || ib < 0) {
      y.dims[i] = ia < 0 ? b.dims[ib] : a.dims[ia];
    } else if (a.dims[ia] == Extent(1)) {
      y.dims[i] = b.dims[ib];
    } else if (b.dims[ib] == Extent(1) || ir::may_be_equal(a.dims[ia], b.dims[ib])) {
      y.dims[i] = a.dims[ia].terms.count("?") ? b.dims[ib] : a.dims[ia];
      if (b.dims[ib] == Extent(1)) y.dims[i] = a.dims[ia];
    } else {
      return op->emitError("expects inputs whose shapes broadcast, but got ")
             << ir::to_string(a) << " and " << ir::to_string(b);
    }
  }
  results.push_back(y);
  return success();
}

/// Each of `vectors` must be [size].
LogicalResult require_vectors(Operation* op, ArrayRef<TensorShape> vectors, const Extent& size) {
  for (const TensorShape& vector : vectors)
    if (vector.rank() != 1 || !ir::may_be_equal(vector.dims[0], size))
      return op->emitError("expects ") << sheaf::to_string(size) << " channels, but a statistic or parameter has shape "
                                       << ir::to_string(vector);
  return success();
}

/// Element-wise ops split along any dimension that the operand shares with the result.
std::optional<int64_t> aligned_split(Operation* op, unsigned operand, int64_t rank, int64_t dim) {
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!result) return std::nullopt;
  auto elementwise = cast<ElementwiseOpInterface>(op);
  SmallVector<int64_t> dims = elementwise.operandDims(operand, rank, result.getRank());
  return dim < static_cast<int64_t>(dims.size()) ? std::optional<int64_t>(dims[dim]) : std::nullopt;
}

}  // namespace

#define SHEAF_ELEMENTWISE(OP, SHAPE)                                                                        \
  LogicalResult OP::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {    \
    return SHAPE(*this, operands, results);                                                                 \
  }                                                                                                         \
  std::optional<int64_t> OP::splitDim(unsigned operand, int64_t rank, int64_t dim) {                        \
    return aligned_split(*this, operand, rank, dim);                                                        \
  }
SHEAF_ELEMENTWISE(ReluOp, same_shape)
SHEAF_ELEMENTWISE(LeakyReluOp, same_shape)
SHEAF_ELEMENTWISE(EluOp, same_shape)
SHEAF_ELEMENTWISE(SiluOp, same_shape)
SHEAF_ELEMENTWISE(GeluOp, same_shape)
SHEAF_ELEMENTWISE(TanhOp, same_shape)
SHEAF_ELEMENTWISE(SigmoidOp, same_shape)
SHEAF_ELEMENTWISE(HardtanhOp, same_shape)
SHEAF_ELEMENTWISE(ScaleOp, same_shape)
SHEAF_ELEMENTWISE(AddOp, broadcast)
SHEAF_ELEMENTWISE(SubOp, broadcast)
SHEAF_ELEMENTWISE(MulOp, broadcast)
#undef SHEAF_ELEMENTWISE

LogicalResult BatchNormOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (operands[0].rank() < 2)
    return emitError("expects an input of at least 2 dimensions, but got ") << ir::to_string(operands[0]);
  if (failed(require_vectors(*this, operands.drop_front(), operands[0].dims[1]))) {
    return failure();
  }
  return same_shape(*this, operands, results);
}
SmallVector<int64_t> BatchNormOp::operandDims(unsigned operand, int64_t operandRank, int64_t resultRank) {
  if (operand > 0) return {1};
  return llvm::to_vector(llvm::seq<int64_t>(0, resultRank));
}
std::optional<int64_t> BatchNormOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}

LogicalResult FoldWeightOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (static_cast<int64_t>(getAxis()) < 0 || static_cast<int64_t>(getAxis()) >= operands[0].rank())
    return emitError("expects an axis of the kernel");
  if (failed(require_vectors(*this, operands.drop_front(), operands[0].dims[getAxis()]))) return failure();
  return same_shape(*this, operands, results);
}
SmallVector<int64_t> FoldWeightOp::operandDims(unsigned operand, int64_t operandRank, int64_t resultRank) {
  if (operand > 0) return {static_cast<int64_t>(getAxis())};
  return llvm::to_vector(llvm::seq<int64_t>(0, resultRank));
}
std::optional<int64_t> FoldWeightOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}

LogicalResult FoldBiasOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (operands[0].rank() != 1) return emitError("expects a vector of means, but got ") << ir::to_string(operands[0]);
  if (failed(require_vectors(*this, operands.drop_front(), operands[0].dims[0]))) return failure();
  return same_shape(*this, operands, results);
}
std::optional<int64_t> FoldBiasOp::splitDim(unsigned, int64_t, int64_t dim) { return dim; }

/// relu(relu(x)) = relu(x).
OpFoldResult ReluOp::fold(FoldAdaptor) {
  return getX().getDefiningOp<ReluOp>() && getX().getType() == getY().getType() ? getX() : OpFoldResult();
}

/// x · 1 = x.
OpFoldResult ScaleOp::fold(FoldAdaptor) {
  bool identity = getValue().convertToDouble() == 1.0 && getX().getType() == getY().getType();
  return identity ? getX() : OpFoldResult();
}
