// Shapes, splitting and folding of element-wise ops. Their scalar definitions are in NnScalar.cpp.
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
SHEAF_ELEMENTWISE(AddOp, broadcast_numbers)
SHEAF_ELEMENTWISE(SubOp, broadcast_numbers)
SHEAF_ELEMENTWISE(MulOp, broadcast_numbers)
SHEAF_ELEMENTWISE(DivOp, broadcast_shape)
SHEAF_ELEMENTWISE(ExpOp, same_shape)
SHEAF_ELEMENTWISE(RsqrtOp, same_shape)
#undef SHEAF_ELEMENTWISE

LogicalResult CastOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  mlir::Type element = element_type(getContext(), getTo());
  if (!element) return emitError("expects to: the name of a dtype, but got '") << getTo() << "'";
  results.push_back({element, operands[0].dims});
  return success();
}
std::optional<int64_t> CastOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}
/// A cast to the type it already has.
OpFoldResult CastOp::fold(FoldAdaptor) { return getX().getType() == getY().getType() ? getX() : OpFoldResult(); }

LogicalResult ExpandOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  const auto rank = static_cast<int64_t>(getShape().size());
  if (rank < x.rank())
    return emitError("expects a size for each of the ") << x.rank() << " dimensions of its input, but got " << rank;
  TensorShape y{x.element, {}};
  for (auto [i, size] : llvm::enumerate(getShape())) {
    const int64_t own = static_cast<int64_t>(i) - (rank - x.rank());
    if (size == -1) {
      if (own < 0) return emitError("keeps (-1) a size that its input ") << ir::to_string(x) << " doesn't have";
      y.dims.push_back(x.dims[own]);
      continue;
    }
    Extent wanted(size);
    if (size == -2) {
      if (operands.size() < 2) return emitError("has \"batch\" in its shape, but no second input, whose rows it would have");
      auto dim = valid_dim(*this, getLikeDim(), operands[1]);
      if (!dim) return failure();
      wanted = operands[1].dims[*dim];
    }
    if (own >= 0 && x.dims[own] != Extent(1) && !ir::may_be_equal(x.dims[own], wanted))
      return emitError("cannot repeat an input of shape ")
             << ir::to_string(x) << " to size " << sheaf::to_string(wanted) << " in dimension " << i << " of " << rank;
    y.dims.push_back(wanted);
  }
  results.push_back(y);
  return success();
}
bool ExpandOp::operandIsRead(unsigned operand) { return operand == 0; }
SmallVector<int64_t> ExpandOp::operandDims(unsigned, int64_t operandRank, int64_t resultRank) {
  return llvm::to_vector(llvm::seq<int64_t>(resultRank - operandRank, resultRank));
}
std::optional<int64_t> ExpandOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  if (operand == 0) return aligned_split(*this, operand, rank, dim);
  auto found = llvm::find(getShape(), -2);
  if (ir::normalize_dim(getLikeDim(), rank) != dim || found == getShape().end()) return std::nullopt;
  return found - getShape().begin();
}

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
