// Shapes, splitting and duals of extrema, variances and running sums.
#include "ir/Nn/ShapeRules.h"
#include "ir/ScalarArithmetic.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
namespace scalar = sheaf::ir::scalar;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

/// An extremum needs at least one element.
LogicalResult require_elements(Operation* op, ArrayRef<int64_t> dims, const TensorShape& x) {
  for (int64_t dim : dims)
    if (auto normal = ir::normalize_dim(dim, x.rank()); normal && x.dims[*normal] == Extent(0))
      return op->emitError("expects elements along dimension ") << dim << ", but the input is " << ir::to_string(x);
  return success();
}

SmallVector<int64_t> from_front(ArrayRef<int64_t> dims, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t dim : dims) result.push_back(*ir::normalize_dim(dim, rank));
  return result;
}

/// An op that runs along `dim` can't be split along it.
std::optional<int64_t> all_but_dim(int64_t dim, int64_t rank, int64_t split) {
  return ir::normalize_dim(dim, rank) == split ? std::nullopt : std::optional<int64_t>(split);
}

}  // namespace

LogicalResult ExtremumOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_float(*this, operands)) || failed(require_elements(*this, getDims(), operands[0]))) return failure();
  return reduced_shape(*this, getDims(), getKeepdim(), operands, results);
}
std::optional<int64_t> ExtremumOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return reduced_split(getDims(), getKeepdim(), rank, dim);
}
/// Elements equal to the extremum share the gradient equally.
void ExtremumOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (!gradients.needed(0u)) return;
  Value x = gradients.forward(getX()), y = gradients.forward(getY());
  const int64_t rank = gradients.type(x).getRank();
  const SmallVector<int64_t> dims = from_front(getDims(), rank);
  SmallVector<int64_t> kept;
  for (int64_t i = 0; i < rank; ++i)
    if (getKeepdim() || !llvm::is_contained(dims, i)) kept.push_back(i);
  Value mask = gradients.make<EqualMaskOp>(x.getType(), x, gradients.broadcast(y, x, kept));
  Value share = gradients.div(results[0], gradients.sum(mask, dims, getKeepdim()));
  operands[0] = gradients.mul(mask, gradients.broadcast(share, x, kept));
}

LogicalResult VarOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (failed(require_float(*this, operands))) return failure();
  if (failed(reduced_shape(*this, getDims(), getKeepdim(), operands, results))) return failure();
  int64_t count = 1;
  bool known = true;
  for (int64_t dim : from_front(getDims(), x.rank())) {
    if (!x.dims[dim].is_static() && !x.dims[dim].terms.count("?"))
      return emitError("takes the variance along dimension ")
             << dim << ", which depends on " << opened_by(*this, x.dims[dim]) << " (input " << ir::to_string(x) << ")"
             << (depends_on_rows(*this, x.dims[dim]) ? ": each device has rows of its own" : "");
    known &= x.dims[dim].is_static();
    count *= x.dims[dim].constant;
  }
  if (known && static_cast<double>(count) <= getCorrection().convertToDouble())
    return emitError("takes the variance of ")
           << count << " elements with a correction of " << getCorrection().convertToDouble();
  return success();
}
std::optional<int64_t> VarOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return reduced_split(getDims(), getKeepdim(), rank, dim);
}

LogicalResult ArgExtremumOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const int64_t dim = getDim();
  if (failed(require_one_kind(*this, operands, /*bools=*/false)) || failed(require_elements(*this, {dim}, operands[0])))
    return failure();
  if (failed(reduced_shape(*this, {dim}, getKeepdim(), operands, results))) return failure();
  results[0].element = IntegerType::get(getContext(), 64);
  return success();
}
std::optional<int64_t> ArgExtremumOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return reduced_split({static_cast<int64_t>(getDim())}, getKeepdim(), rank, dim);
}

LogicalResult CumSumOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (!valid_dim(*this, getDim(), operands[0]) || failed(require_one_kind(*this, operands, /*bools=*/false))) return failure();
  results.push_back(operands[0]);
  return success();
}
std::optional<int64_t> CumSumOp::splitDim(unsigned, int64_t rank, int64_t dim) { return all_but_dim(getDim(), rank, dim); }
/// x[j] is part of every sum from the j-th on.
void CumSumOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (!gradients.needed(0u)) return;
  UnitAttr reverse = getReverse() ? UnitAttr() : gradients.builder.getUnitAttr();
  operands[0] = gradients.make<CumSumOp>(results[0].getType(), results[0], getDimAttr(), reverse);
}

LogicalResult ScanOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (getTake() != "product" && getTake() != "log_sum_exp") return emitError("knows no scan '") << getTake() << "'";
  if (!valid_dim(*this, getDim(), operands[0])) return failure();
  if (failed(getTake() == "product" ? require_one_kind(*this, operands, /*bools=*/false) : require_float(*this, operands)))
    return failure();
  results.push_back(operands[0]);
  return success();
}
std::optional<int64_t> ScanOp::splitDim(unsigned, int64_t rank, int64_t dim) { return all_but_dim(getDim(), rank, dim); }
void ScanOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (gradients.needed(0u))
    operands[0] = gradients.make<ScanBackwardOp>(results[0].getType(), results[0], gradients.forward(getX()),
                                                 gradients.forward(getY()), getDimAttr(), getTakeAttr());
}
LogicalResult ScanBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  for (const TensorShape& each : operands.drop_front())
    if (failed(require_fit(*this, operands[0], each, "a value"))) return failure();
  if (!valid_dim(*this, getDim(), operands[0])) return failure();
  return same_shape(*this, operands, results);
}
std::optional<int64_t> ScanBackwardOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return all_but_dim(getDim(), rank, dim);
}

static LogicalResult positions_like(Operation* op, int64_t dim, ArrayRef<TensorShape> operands,
                                    SmallVectorImpl<TensorShape>& results) {
  if (failed(require_one_kind(op, operands, /*bools=*/false)) || !valid_dim(op, dim, operands[0])) return failure();
  results.push_back({IntegerType::get(op->getContext(), 64), operands[0].dims});
  return success();
}
LogicalResult ArgScanOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (valid_dim(*this, getDim(), operands[0]) && failed(require_elements(*this, {static_cast<int64_t>(getDim())}, operands[0])))
    return failure();
  return positions_like(*this, getDim(), operands, results);
}
std::optional<int64_t> ArgScanOp::splitDim(unsigned, int64_t rank, int64_t dim) { return all_but_dim(getDim(), rank, dim); }
LogicalResult ArgSortOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return positions_like(*this, getDim(), operands, results);
}
std::optional<int64_t> ArgSortOp::splitDim(unsigned, int64_t rank, int64_t dim) { return all_but_dim(getDim(), rank, dim); }

LogicalResult EqualMaskOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return broadcast_shape(*this, operands, results);
}
std::optional<int64_t> EqualMaskOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}
Value EqualMaskOp::buildScalar(OpBuilder& b, Location loc, ValueRange in) {
  using arith::CmpFPredicate;
  Value equal = b.create<arith::CmpFOp>(loc, CmpFPredicate::OEQ, in[0], in[1]);
  auto nan = [&](Value x) -> Value { return b.create<arith::CmpFOp>(loc, CmpFPredicate::UNO, x, x); };
  Value both = b.create<arith::AndIOp>(loc, nan(in[0]), nan(in[1]));
  Value alike = b.create<arith::OrIOp>(loc, equal, both);
  return b.create<arith::SelectOp>(loc, alike, scalar::constant(b, loc, 1), scalar::constant(b, loc, 0));
}
