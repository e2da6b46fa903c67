// Shapes, splitting and scalar definition of attention on projected queries, keys and values.
#include "ir/Nn/ShapeRules.h"
#include "ir/ScalarArithmetic.h"

#include <limits>

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
namespace scalar = sheaf::ir::scalar;
using namespace sheaf::nn;
using ir::TensorShape;

/// `mask` must broadcast to the shape of `scores`, as in PyTorch.
static LogicalResult require_stretching(Operation* op, const TensorShape& mask, ArrayRef<Extent> scores) {
  const int64_t rank = static_cast<int64_t>(scores.size());
  bool fits = mask.rank() <= rank;
  for (int64_t i = 0; fits && i < mask.rank(); ++i)
    fits = mask.dims[i] == Extent(1) || ir::may_be_equal(mask.dims[i], scores[rank - mask.rank() + i]);
  if (fits) return success();
  return op->emitError("expects a mask that stretches to ")
         << ir::to_string(TensorShape{mask.element, SmallVector<Extent>(scores)}) << ", but got " << ir::to_string(mask);
}

LogicalResult AttentionOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &query = operands[0], &key = operands[1], &value = operands[2];
  if (failed(require_float(*this, operands.take_front(3)))) return failure();
  const int64_t rank = query.rank();
  auto misfit = [&] {
    return emitError("expects query […, L, E], key […, S, E] and value […, S, D] that agree before these, but got ")
           << ir::to_string(query) << ", " << ir::to_string(key) << " and " << ir::to_string(value);
  };
  if (rank < 2 || key.rank() != rank || value.rank() != rank || (getEnableGqa() && rank < 3)) return misfit();
  if (!ir::may_be_equal(query.dims[rank - 1], key.dims[rank - 1]) ||
      !ir::may_be_equal(key.dims[rank - 2], value.dims[rank - 2]))
    return misfit();
  for (int64_t i = 0; i < rank - 2; ++i) {
    const Extent &of_query = query.dims[i], &of_key = key.dims[i];
    if (!ir::may_be_equal(of_key, value.dims[i])) return misfit();
    if (getEnableGqa() && i == rank - 3) {
      const bool divides =
          of_query.is_static() && of_key.is_static() && of_key.constant > 0 && of_query.constant % of_key.constant == 0;
      if (!divides && !of_query.terms.count("?") && !of_key.terms.count("?"))
        return emitError("expects a number of heads that key's divides, but got ")
               << ir::to_string(query) << " and " << ir::to_string(key);
    } else if (!ir::may_be_equal(of_query, of_key)) {
      return misfit();
    }
  }
  for (const TensorShape* shape : {&query, &key})
    for (int64_t i = rank - 2; i < rank; ++i)
      if (depends_on_rows(*this, shape->dims[i]))
        return emitError("expects sequences that don't depend on the batch, but got ") << ir::to_string(*shape);
  SmallVector<Extent> scores(query.dims);
  scores.back() = key.dims[rank - 2];
  if (getMask() && failed(require_stretching(*this, operands[3], scores))) return failure();
  TensorShape y{promoted(promoted(query.element, key.element), value.element), query.dims};
  y.dims.back() = value.dims.back();
  results.push_back(y);
  return success();
}
std::optional<int64_t> AttentionOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  auto y = dyn_cast<RankedTensorType>(getY().getType());
  if (!y || dim >= rank - 2) return std::nullopt;
  return dim + y.getRank() - rank;
}

LogicalResult MaskScoresOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_float(*this, operands.take_front()))) return failure();
  if (operands[0].rank() < 2) return emitError("expects scores […, L, S], but got ") << ir::to_string(operands[0]);
  if (getMask() && failed(require_stretching(*this, operands[1], operands[0].dims))) return failure();
  results.push_back(operands[0]);
  return success();
}
std::optional<int64_t> MaskScoresOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}
bool MaskScoresOp::usesCoordinates() { return getCausal().has_value(); }
/// -∞ is added, as in PyTorch, so a NaN score stays NaN.
Value MaskScoresOp::buildScalar(OpBuilder& b, Location loc, ValueRange in) {
  Value x = in[0], none = scalar::constant(b, loc, 0);
  Value hidden = scalar::constant(b, loc, -std::numeric_limits<double>::infinity());
  auto where = [&](Value sees) { x = scalar::add(b, loc, x, b.create<arith::SelectOp>(loc, sees, none, hidden)); };
  if (getMask() && isa<FloatType>(in[1].getType())) {
    x = scalar::add(b, loc, x, in[1]);
  } else if (getMask()) {
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(in[1].getType()));
    where(b.create<arith::CmpIOp>(loc, getInverted() ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne, in[1], zero));
  }
  if (!getCausal()) return x;
  Value first = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(static_cast<int64_t>(*getCausal())));
  Value position = b.create<arith::AddIOp>(loc, in[in.size() - 2], first), key = in[in.size() - 1];
  where(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, key, position));
  return x;
}
/// The softmax that follows gives hidden keys no gradient.
void MaskScoresOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (gradients.needed(0u)) operands[0] = results[0];
  if (getMask() && gradients.needed(1u)) operands[1] = gradients.sum_to(results[0], getMask());
}
