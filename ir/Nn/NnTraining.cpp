// Shapes and splitting of the training forms of linear layers and batch norm.
#include "ir/Nn/Operands.h"
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

LogicalResult LinearBackwardDataOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return library_shapes(*this, operands, results);
}
std::optional<int64_t> LinearBackwardDataOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return operand == 0 && dim < rank - 1 ? std::optional<int64_t>(dim) : std::nullopt;
}

LogicalResult LinearBackwardWeightOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return library_shapes(*this, operands, results);
}
/// A sum over the rows.
std::optional<int64_t> LinearBackwardWeightOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }

LogicalResult BatchNormTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return library_shapes(*this, operands, results);
}
/// y is cut as x is: each replica normalises with the statistics of its own chunk, as DataParallel does.
std::optional<int64_t> BatchNormTrainOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  return operand == 0 && dim != 1 ? std::optional<int64_t>(dim) : std::nullopt;
}

LogicalResult BatchNormBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return library_shapes(*this, operands, results);
}
std::optional<int64_t> BatchNormBackwardOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  return operand < 2 && dim != 1 ? std::optional<int64_t>(dim) : std::nullopt;
}
