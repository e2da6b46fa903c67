// Shapes, splitting and folding of element-wise ops. Their scalar definitions stand in NnScalar.cpp.
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

#define SHEAF_ELEMENTWISE(OP, SHAPE)                                                                     \
  LogicalResult OP::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) { \
    return SHAPE(*this, operands, results);                                                              \
  }                                                                                                      \
  std::optional<int64_t> OP::splitDim(unsigned operand, int64_t rank, int64_t dim) {                     \
    return aligned_split(*this, operand, rank, dim);                                                     \
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
SHEAF_ELEMENTWISE(AddOp, broadcast_shape)
SHEAF_ELEMENTWISE(SubOp, broadcast_shape)
SHEAF_ELEMENTWISE(MulOp, broadcast_shape)
SHEAF_ELEMENTWISE(DivOp, broadcast_shape)
SHEAF_ELEMENTWISE(ExpOp, same_shape)
SHEAF_ELEMENTWISE(RsqrtOp, same_shape)
#undef SHEAF_ELEMENTWISE

LogicalResult CastOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  mlir::Type element = float_type(getContext(), getTo());
  if (!element) return emitError("expects to: float32, bfloat16 or float16, but got '") << getTo() << "'";
  if (failed(require_float(*this, operands))) return failure();
  results.push_back({element, operands[0].dims});
  return success();
}
std::optional<int64_t> CastOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}
/// To the type that it has already.
OpFoldResult CastOp::fold(FoldAdaptor) { return getX().getType() == getY().getType() ? getX() : OpFoldResult(); }

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
