// Shapes and splitting of recurrent layers, in inference and in training.
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

/// Shapes of a recurrent layer: y, h and, for an LSTM, c. `states` are the initial states given.
template <typename Op>
LogicalResult recurrent_shapes(Op op, ArrayRef<TensorShape> operands, size_t states, size_t outputs,
                               SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (x.rank() != 3 && x.rank() != 2)
    return op.emitError("expects an input of 3 dimensions (or 2 without the batch), but got ") << ir::to_string(x);
  if (operands.size() <= 1 + states) return op.emitError("expects weights");
  const TensorShape& weight = operands[1 + states];
  if (weight.rank() != 2) return op.emitError("expects a first weight of 2 dimensions, but got ") << ir::to_string(weight);
  if (!ir::may_be_equal(x.dims.back(), weight.dims[1]))
    return op.emitError("expects ") << sheaf::to_string(weight.dims[1]) << " input features, but the input is " << ir::to_string(x);
  int64_t directions = op.getBidirectional() ? 2 : 1, hidden = op.getHiddenSize();
  TensorShape y = x, state{x.element, {Extent(directions * static_cast<int64_t>(op.getNumLayers()))}};
  y.dims.back() = directions * hidden;
  if (x.rank() == 3) state.dims.push_back(x.dims[op.getBatchFirst() ? 0 : 1]);
  state.dims.push_back(Extent(hidden));
  int64_t time = x.rank() == 3 && op.getBatchFirst() ? 1 : 0;
  if (!x.dims[time].is_static() && !x.dims[time].terms.count("?"))
    return op.emitError("expects a sequence length that doesn't depend on the batch, but the input is ")
           << ir::to_string(x) << " with time as dimension " << time;
  for (size_t i = 0; i < states; ++i) {
    const TensorShape& given = operands[1 + i];
    bool fits = given.rank() == state.rank();
    for (int64_t d = 0; fits && d < state.rank(); ++d) fits = ir::may_be_equal(given.dims[d], state.dims[d]);
    if (!fits)
      return op.emitError("expects an initial state of shape ") << ir::to_string(state) << ", but got " << ir::to_string(given);
  }
  results.push_back(y);
  results.append(outputs - 1, state);
  return success();
}

/// The batch dimension of x (1, or 0 if batch_first) and of the states (1) is cut into that of y.
template <typename Op>
std::optional<int64_t> recurrent_split(Op op, unsigned operand, int64_t rank, int64_t dim) {
  int64_t batch = op.getBatchFirst() ? 0 : 1;
  bool state = operand > 0;
  return rank == 3 && dim == (state ? 1 : batch) ? std::optional<int64_t>(batch) : std::nullopt;
}

}  // namespace

LogicalResult LstmOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, (getH0() ? 1 : 0) + (getC0() ? 1 : 0), 3, results);
}
LogicalResult GruOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return recurrent_shapes(*this, operands, getH0() ? 1 : 0, 2, results);
}
std::optional<int64_t> LstmOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return recurrent_split(*this, operand, rank, dim);
}
std::optional<int64_t> GruOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return recurrent_split(*this, operand, rank, dim);
}

// In training a workspace comes after the layer's results.

LogicalResult LstmTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(recurrent_shapes(*this, operands, (getH0() ? 1 : 0) + (getC0() ? 1 : 0), 3, results))) return failure();
  results.push_back(workspace_shape(getContext()));
  return success();
}
LogicalResult GruTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(recurrent_shapes(*this, operands, getH0() ? 1 : 0, 2, results))) return failure();
  results.push_back(workspace_shape(getContext()));
  return success();
}
std::optional<int64_t> LstmTrainOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return recurrent_split(*this, operand, rank, dim);
}
std::optional<int64_t> GruTrainOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return recurrent_split(*this, operand, rank, dim);
}

namespace {

/// Gradients of x, the initial states and the weights: each of its value's shape. `outputs`: y, h and, for an LSTM, c,
/// which come after the weights and before the workspace and their gradients.
template <typename Op>
LogicalResult backward_shapes(Op op, ArrayRef<TensorShape> operands, size_t states, size_t outputs,
                              ArrayRef<std::pair<Value, const char*>> gradients, SmallVectorImpl<TensorShape>& results) {
  size_t inputs = 1 + states + op.getWeights().size();
  SmallVector<TensorShape> expected;
  if (failed(recurrent_shapes(op, operands.take_front(inputs), states, outputs, expected))) return failure();
  for (size_t i = 0; i < outputs; ++i)
    if (failed(require_fit(op, expected[i], operands[inputs + i], "a result of the forward pass"))) return failure();
  size_t next = inputs + outputs + 1;
  if (next == operands.size()) return op.emitError("expects the gradient of at least one result");
  for (auto [i, gradient] : llvm::enumerate(gradients))
    if (gradient.first && failed(require_fit(op, expected[i], operands[next++], gradient.second))) return failure();
  results.append(operands.begin(), operands.begin() + inputs);
  return success();
}

}  // namespace

LogicalResult LstmBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return backward_shapes(*this, operands, (getH0() ? 1 : 0) + (getC0() ? 1 : 0), 3,
                         {{getDy(), "dy"}, {getDh(), "dh"}, {getDc(), "dc"}}, results);
}
LogicalResult GruBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return backward_shapes(*this, operands, getH0() ? 1 : 0, 2, {{getDy(), "dy"}, {getDh(), "dh"}}, results);
}
/// The weights' gradients are sums over the batch.
std::optional<int64_t> LstmBackwardOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }
std::optional<int64_t> GruBackwardOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }
