// Shapes and splitting of recurrent layers, in inference and in training. Formulas: runtime/ops/recurrent.cpp.
#include "ir/Nn/Operands.h"
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

template <typename Op>
LogicalResult recurrent_shapes(Op op, ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  int64_t time = x.rank() == 3 && op.getBatchFirst() ? 1 : 0;
  if (x.rank() > 1 && depends_on_rows(op, x.dims[time]))
    return op.emitError("expects a sequence length that doesn't depend on the batch, but the input is ")
           << ir::to_string(x) << " with time as dimension " << time;
  return library_shapes(op, operands, results);
}

/// The batch dimension of x (1, or 0 if batch_first) and of the states (1) becomes that of y.
template <typename Op>
std::optional<int64_t> recurrent_split(Op op, unsigned operand, int64_t rank, int64_t dim) {
  int64_t batch = op.getBatchFirst() ? 0 : 1;
  bool state = operand > 0;
  return rank == 3 && dim == (state ? 1 : batch) ? std::optional<int64_t>(batch) : std::nullopt;
}

}  // namespace

LogicalResult LstmOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, results);
}
LogicalResult GruOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, results);
}
LogicalResult RnnOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, results);
}
std::optional<int64_t> LstmOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return recurrent_split(*this, operand, rank, dim);
}
std::optional<int64_t> GruOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return recurrent_split(*this, operand, rank, dim);
}
std::optional<int64_t> RnnOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return recurrent_split(*this, operand, rank, dim);
}

// In training a workspace follows the layer's results.

LogicalResult LstmTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, results);
}
LogicalResult GruTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, results);
}
LogicalResult RnnTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, results);
}
std::optional<int64_t> LstmTrainOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return recurrent_split(*this, operand, rank, dim);
}
std::optional<int64_t> GruTrainOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return recurrent_split(*this, operand, rank, dim);
}
std::optional<int64_t> RnnTrainOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return recurrent_split(*this, operand, rank, dim);
}

LogicalResult LstmBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, results);
}
LogicalResult GruBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, results);
}
LogicalResult RnnBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, results);
}
/// The weights' gradients are sums over the batch.
std::optional<int64_t> LstmBackwardOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }
std::optional<int64_t> GruBackwardOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }
std::optional<int64_t> RnnBackwardOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }
