// Shapes and splitting of linear layers, matrix products, row norms, embedding and attention.
#include "ir/Nn/Operands.h"
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

LogicalResult LinearOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return library_shapes(*this, operands, results);
}
std::optional<int64_t> LinearOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return operand == 0 && dim < rank - 1 ? std::optional<int64_t>(dim) : std::nullopt;
}

LogicalResult MatMulOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return library_shapes(*this, operands, results);
}
std::optional<int64_t> MatMulOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  auto y = dyn_cast<RankedTensorType>(getY().getType());
  int64_t inner = operand == 0 ? (getTransposeA() ? rank - 2 : rank - 1) : (getTransposeB() ? rank - 1 : rank - 2);
  bool mixes = dim == inner || (operand == 1 && dim >= rank - 2);
  auto is_vector = [](Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 1; };
  if (!y || mixes || rank < 2) return std::nullopt;
  int64_t full_rank = y.getRank() + is_vector(getA()) + is_vector(getB());  // with the dimensions that vectors lack
  return full_rank - rank + std::min(dim, rank - 2);
}

/// For a norm over the last dimensions, whose sizes are `shape`; weight and bias have the same sizes.
static LogicalResult row_norm_shape(Operation* op, ArrayRef<int64_t> shape, ArrayRef<TensorShape> operands,
                                    SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (failed(require_float(op, operands))) return failure();
  bool fits = x.rank() >= static_cast<int64_t>(shape.size());
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = ir::may_be_equal(x.dims[x.rank() - shape.size() + i], Extent(shape[i]));
  TensorShape parameter{x.element, SmallVector<Extent>(shape.begin(), shape.end())};
  for (const TensorShape& given : operands.drop_front())
    if (!ir::may_fit(given, parameter))
      return op->emitError("expects a weight and bias of shape ")
             << ir::to_string(parameter) << ", but got " << ir::to_string(given);
  if (!fits) return op->emitError("expects the last dimensions to be [") << shape << "], but the input is " << ir::to_string(x);
  results.push_back(x);
  return success();
}
LogicalResult LayerNormOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return row_norm_shape(*this, getNormalizedShape(), operands, results);
}
std::optional<int64_t> LayerNormOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  int64_t rows = rank - static_cast<int64_t>(getNormalizedShape().size());
  return operand == 0 && dim < rows ? std::optional<int64_t>(dim) : std::nullopt;
}

LogicalResult RmsNormOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return row_norm_shape(*this, getNormalizedShape(), operands, results);
}
std::optional<int64_t> RmsNormOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  int64_t rows = rank - static_cast<int64_t>(getNormalizedShape().size());
  return operand == 0 && dim < rows ? std::optional<int64_t>(dim) : std::nullopt;
}

LogicalResult LocalResponseNormOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (failed(require_float(*this, operands))) return failure();
  if (x.rank() < 3) return emitError("expects an input of at least 3 dimensions, but got ") << ir::to_string(x);
  for (const Extent& size : ArrayRef(x.dims).drop_front())
    if (!size.is_static() && !is_unknown(size))
      return emitError("expects channels and sizes that don't depend on ")
             << opened_by(*this, size) << ", but the input is " << ir::to_string(x);
  if (static_cast<int64_t>(getSize()) < 1)
    return emitError("expects a size of at least 1, but got ") << static_cast<int64_t>(getSize());
  results.push_back(x);
  return success();
}
std::optional<int64_t> LocalResponseNormOp::splitDim(unsigned, int64_t, int64_t dim) {
  return dim == 0 ? std::optional<int64_t>(0) : std::nullopt;
}

LogicalResult GroupNormOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (failed(require_float(*this, operands))) return failure();
  if (x.rank() < 2) return emitError("expects an input of at least 2 dimensions, but got ") << ir::to_string(x);
  for (const TensorShape& parameter : operands.drop_front()) {
    if (parameter.rank() != 1) return emitError("expects parameters [C], but got ") << ir::to_string(parameter);
    if (!ir::may_be_equal(parameter.dims[0], x.dims[1]))
      return emitError("expects ") << sheaf::to_string(parameter.dims[0]) << " channels, but the input is " << ir::to_string(x);
  }
  if (static_cast<int64_t>(getNumGroups()) < 1)
    return emitError("expects at least one group, but got ") << static_cast<int64_t>(getNumGroups());
  if (x.dims[1].is_static() && x.dims[1].constant % static_cast<int64_t>(getNumGroups()))
    return emitError("expects channels divisible by ") << getNumGroups() << " groups, but the input is " << ir::to_string(x);
  results.push_back(x);
  return success();
}
std::optional<int64_t> GroupNormOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  return operand == 0 && dim == 0 ? std::optional<int64_t>(0) : std::nullopt;
}

LogicalResult EmbeddingOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &x = operands[0], &weight = operands[1];
  if (!isa<IntegerType>(x.element) || x.element.getIntOrFloatBitWidth() < 32)
    return emitError("expects an input of dtype int64 or int32, but it is ") << dtype_name(x.element);
  if (weight.rank() != 2) return emitError("expects a table [V, D], but got ") << ir::to_string(weight);
  TensorShape y{weight.element, x.dims};
  y.dims.push_back(weight.dims[1]);
  if (std::optional<int64_t> row = getPaddingIdx();
      row && (*row < 0 || (weight.dims[0].is_static() && *row >= weight.dims[0].constant)))
    return emitError("expects a padding_idx inside the table ") << ir::to_string(weight) << ", but got " << *row;
  results.push_back(y);
  return success();
}
std::optional<int64_t> EmbeddingOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  return operand == 0 ? std::optional<int64_t>(dim) : std::nullopt;
}

/// attn_mask is [L, S] or [N·heads, L, S], key_padding_mask [N, S]; without a batch dimension, both lack N.
static LogicalResult require_masks(MultiheadAttentionOp op, ArrayRef<TensorShape> masks, ArrayRef<Extent> weights) {
  const Extent length = weights[weights.size() - 2], keys = weights.back();
  const int64_t heads = op.getNumHeads();
  const bool batched = weights.size() == 3;
  if (op.getAttnMask()) {
    const TensorShape& mask = masks.front();
    const TensorShape same{mask.element, {length, keys}};
    const TensorShape each{mask.element, {batched ? weights[0] * heads : Extent(heads), length, keys}};
    if (!ir::may_fit(same, mask) && !ir::may_fit(each, mask))
      return op.emitError("expects an attn_mask of shape ")
             << ir::to_string(same) << " or " << ir::to_string(each) << ", but got " << ir::to_string(mask);
  }
  if (!op.getKeyPaddingMask()) return success();
  TensorShape padding{masks.back().element, {keys}};
  if (batched) padding.dims.insert(padding.dims.begin(), weights[0]);
  return require_fit(op, padding, masks.back(), "a key_padding_mask");
}

LogicalResult MultiheadAttentionOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &query = operands[0], &key = operands[1], &value = operands[2];
  auto misfit = [&] {
    return emitError("expects query [L, N, E] and key and value [S, N, E] (N first if batch_first), but got ")
           << ir::to_string(query) << ", " << ir::to_string(key) << " and " << ir::to_string(value);
  };
  const size_t masks = (getAttnMask() ? 1 : 0) + (getKeyPaddingMask() ? 1 : 0);
  if (failed(require_float(*this, operands.drop_back(masks)))) return failure();
  if ((query.rank() != 3 && query.rank() != 2) || key.rank() != query.rank() || value.rank() != query.rank()) return misfit();
  for (int64_t i = 0; i < query.rank(); ++i)
    if (!ir::may_be_equal(key.dims[i], value.dims[i])) return misfit();
  if (operands[3].rank() != 2) return emitError("expects an in_proj weight [3E, E], but got ") << ir::to_string(operands[3]);
  const Extent& embedding = operands[3].dims[1];
  int64_t heads = getNumHeads();
  if (heads < 1 || !embedding.is_static() || embedding.constant % heads)
    return emitError("expects a width divisible by the number of heads, but got ")
           << sheaf::to_string(embedding) << " and " << heads;
  for (const TensorShape* shape : {&query, &key})
    if (!ir::may_be_equal(shape->dims.back(), embedding))
      return emitError("expects inputs of ") << sheaf::to_string(embedding) << " features, but got " << ir::to_string(*shape);
  int64_t batch = getBatchFirst() ? 0 : 1, time = 1 - batch;
  TensorShape output{promoted(promoted(query.element, promoted(key.element, value.element)), operands[3].element), query.dims};
  TensorShape weights{output.element, {}};
  if (query.rank() == 3) {
    if (!ir::may_be_equal(query.dims[batch], key.dims[batch])) return misfit();
    for (const TensorShape* shape : {&query, &key})
      if (depends_on_rows(*this, shape->dims[time]))
        return emitError("expects a sequence length that doesn't depend on the batch, but got ") << ir::to_string(*shape);
    weights.dims = {query.dims[batch], query.dims[time], key.dims[time]};
  } else {
    weights.dims = {query.dims[0], key.dims[0]};
  }
  if (failed(require_masks(*this, operands.take_back(masks), weights.dims))) return failure();
  if (!getAverage()) weights.dims.insert(weights.dims.end() - 2, Extent(heads));
  results.push_back(output);
  results.push_back(weights);
  return success();
}
std::optional<int64_t> MultiheadAttentionOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  const int64_t batch = getBatchFirst() ? 0 : 1;
  Value cut = getOperand(operand);
  const bool mask = cut == getKeyPaddingMask() ? rank == 2 && dim == 0 : cut == getAttnMask() && rank == 3 && dim == 0;
  const bool input = operand < 3 && rank == 3 && dim == batch;
  return mask || input ? std::optional<int64_t>(batch) : std::nullopt;
}
