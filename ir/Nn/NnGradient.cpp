// Shapes, splitting and scalar definitions of the ops that gradients and losses are composed of.
#include "ir/Nn/Lengths.h"
#include "ir/Nn/ShapeRules.h"
#include "ir/ScalarArithmetic.h"

#include <limits>

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
namespace scalar = sheaf::ir::scalar;
using namespace sheaf::nn;
using ir::TensorShape;

// Sums and sizes -----------------------------------------------------------------------------------------------------

LogicalResult SumOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_float(*this, operands))) return failure();
  if (failed(reduced_shape(*this, getDims(), getKeepdim(), operands, results))) return failure();
  results[0].element = sum_type(results[0].element);
  return success();
}
std::optional<int64_t> SumOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return reduced_split(getDims(), getKeepdim(), rank, dim);
}

LogicalResult BroadcastOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &x = operands[0], &like = operands[1];
  ArrayRef<int64_t> dims = getDims();
  bool fits = isa<FloatType>(x.element) && static_cast<int64_t>(dims.size()) == x.rank();
  for (int64_t i = 0; fits && i < x.rank(); ++i)
    fits = dims[i] >= 0 && dims[i] < like.rank() && (i == 0 || dims[i] > dims[i - 1]) &&
           (x.dims[i] == Extent(1) || ir::may_be_equal(x.dims[i], like.dims[dims[i]]));
  if (!fits)
    return emitError("cannot stretch an input of shape ")
           << ir::to_string(x) << " along dimensions [" << dims << "] of " << ir::to_string(like);
  results.push_back({x.element, like.dims});
  return success();
}
SmallVector<int64_t> BroadcastOp::operandDims(unsigned operand, int64_t, int64_t resultRank) {
  if (operand == 0) return SmallVector<int64_t>(getDims());
  return llvm::to_vector(llvm::seq<int64_t>(0, resultRank));
}
bool BroadcastOp::operandIsRead(unsigned operand) { return operand == 0; }
Value BroadcastOp::buildScalar(OpBuilder&, Location, ValueRange in) { return in[0]; }
std::optional<int64_t> BroadcastOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}

LogicalResult InverseCountOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  SmallVector<TensorShape> reduced;
  if (failed(reduced_shape(*this, getDims(), false, operands, reduced))) return failure();
  results.push_back({Float32Type::get(getContext()), {}});
  return success();
}
std::optional<int64_t> InverseCountOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }

LogicalResult PadOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  auto dim = valid_dim(*this, getDim(), operands[0]);
  if (!dim) return failure();
  const Extent& size = operands[0].dims[*dim];
  int64_t begin = getBegin(), whole = getSize();
  if (depends_on_rows(*this, size))
    return emitError("pads along a dimension that depends on the batch (input ") << ir::to_string(operands[0]) << ")";
  if (auto length = (*this)->getAttrOfType<StringAttr>(kLength)) {
    FailureOr<Extent> open = parsed_length(*this, length);
    if (failed(open)) return failure();
    // Every length has a first and a last entry.
    if (size != Extent(1) || (begin != 0 && begin != -1))
      return emitError("expects one entry, the first or the last of '")
             << length.getValue() << "', but " << ir::to_string(operands[0]) << " begins at " << begin;
    TensorShape y = operands[0];
    y.dims[*dim] = *open;
    results.push_back(y);
    return success();
  }
  if (begin < 0 || whole < 0 || (size.is_static() && begin + size.constant > whole))
    return emitError("expects a range inside ")
           << whole << " entries, but dimension " << *dim << " of " << ir::to_string(operands[0]) << " begins at " << begin;
  TensorShape y = operands[0];
  y.dims[*dim] = whole;
  results.push_back(y);
  return success();
}
std::optional<int64_t> PadOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return ir::normalize_dim(getDim(), rank) == dim ? std::nullopt : std::optional<int64_t>(dim);
}

LogicalResult EmbeddingBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &x = operands[0], &dy = operands[1];
  if (!isa<IntegerType>(x.element) || x.element.getIntOrFloatBitWidth() < 32)
    return emitError("expects an input of dtype int64 or int32, but got elements of type ") << x.element;
  if (dy.rank() < 1) return emitError("expects a gradient of at least one dimension");
  TensorShape expected{dy.element, x.dims};
  expected.dims.push_back(dy.dims.back());
  if (failed(require_fit(*this, expected, dy, "a gradient"))) return failure();
  int64_t rows = getNumEmbeddings(), padding = getPaddingIdx();
  if (rows < 0 || padding < -1 || padding >= rows)
    return emitError("expects a table that holds padding_idx ") << padding << ", but it has " << rows << " rows";
  results.push_back({dy.element, {Extent(rows), dy.dims.back()}});
  return success();
}
/// A sum over the batch.
std::optional<int64_t> EmbeddingBackwardOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }

// Activations and dropout --------------------------------------------------------------------------------------------

LogicalResult ActivationBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (!getActivation().getAs<StringAttr>("kind")) return emitError("expects an activation with a kind");
  if (failed(require_fit(*this, operands[0], operands[1], "a value"))) return failure();
  return same_shape(*this, operands, results);
}
Value ActivationBackwardOp::buildScalar(OpBuilder& b, Location loc, ValueRange in) {
  return scalar::activation_gradient(b, loc, getActivation(), in[0], in[1]);
}
std::optional<int64_t> ActivationBackwardOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}

/// What ops that draw a number for each element of `x` require of it and of `settings`.
static LogicalResult require_drawn(Operation* op, const TensorShape& x, ArrayRef<TensorShape> settings) {
  if (failed(require_float(op, x))) return failure();
  for (const TensorShape& setting : settings)
    if (setting.rank() != 0 || !setting.element.isInteger(64))
      return op->emitError("expects a step, a seed and a first row of one int64 each, but got ")
             << ir::to_string(setting) << " of " << setting.element;
  bool open = false;
  for (const Extent& dim : x.dims) {
    if (open && depends_on_rows(op, dim))
      return op->emitError("expects at most one size that depends on the batch, and lengths behind it, but the input is ")
             << ir::to_string(x) << "; a Permute before it mends it";
    open |= !dim.is_static();
  }
  return success();
}

/// The element's uniform number in [0, 1): of its index in the whole batch, row-major, the dimension that depends on the batch
/// counted as the outermost one. `dims` are those that it is of; `in` are the op's operands, then coordinates, then sizes.
template <typename Op>
static Value draw(Op op, OpBuilder& b, Location loc, ValueRange in, function_ref<bool(int64_t)> dims) {
  auto type = cast<RankedTensorType>(op.getY().getType());
  const int64_t rank = type.getRank();
  const unsigned operands = op->getNumOperands(), settings = op.getFirstRow() ? 3 : 2;
  ValueRange coordinates = in.drop_front(operands), given = in.slice(operands - settings, settings);
  auto integer = [&](int64_t value) -> Value { return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(value)); };
  // The size of the batch dimension is unknown; counted as the outermost one, it isn't needed.
  std::optional<int64_t> outermost;
  for (int64_t i = 0; i < rank; ++i)
    if (type.isDynamicDim(i) && dims(i) && !outermost) outermost = i;
  Value position = outermost ? coordinates[*outermost] : integer(0);
  if (op.getFirstRow() && outermost) {
    Value before = b.create<arith::MulIOp>(loc, given[2], integer(static_cast<int64_t>(op.getRows())));
    position = b.create<arith::AddIOp>(loc, position, before);
  }
  for (int64_t i = 0; i < rank; ++i) {
    if (i == outermost || !dims(i)) continue;
    Value size = type.isDynamicDim(i) ? coordinates[rank + i] : integer(type.getDimSize(i));
    position = b.create<arith::MulIOp>(loc, position, size);
    position = b.create<arith::AddIOp>(loc, position, coordinates[i]);
  }
  return scalar::philox_uniform(b, loc, given[1], position, given[0], static_cast<uint32_t>(op.getLayer()));
}

/// Whether the numbers of draw() depend on sizes that a run determines: where lengths follow the batch.
template <typename Op>
static bool draws_by_sizes(Op op) {
  return cast<RankedTensorType>(op.getY().getType()).getNumDynamicDims() > 1;
}

LogicalResult DropoutTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_drawn(*this, operands[0], operands.drop_front()))) return failure();
  double p = getP().convertToDouble();
  if (!(p >= 0 && p <= 1)) return emitError("expects a probability, but got ") << p;
  for (int64_t dim : getMaskDims().value_or(ArrayRef<int64_t>()))
    if (dim < 0 || dim >= operands[0].rank())
      return emitError("has a mask along dimension ") << dim << " of " << ir::to_string(operands[0]);
  results.push_back(operands[0]);
  return success();
}
bool DropoutTrainOp::usesCoordinates() { return true; }
bool DropoutTrainOp::usesSizes() { return draws_by_sizes(*this); }
Value DropoutTrainOp::buildScalar(OpBuilder& b, Location loc, ValueRange in) {
  double p = getP().convertToDouble();
  Value uniform =
      draw(*this, b, loc, in, [&](int64_t dim) { return !getMaskDims() || llvm::is_contained(*getMaskDims(), dim); });
  Value kept = scalar::mul(b, loc, in[0], scalar::constant(b, loc, p < 1 ? 1 / (1 - p) : 0));
  return scalar::choose(b, loc, arith::CmpFPredicate::OGE, uniform, scalar::constant(b, loc, p), kept,
                        scalar::constant(b, loc, 0));
}
std::optional<int64_t> DropoutTrainOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  return operand == 0 ? std::optional<int64_t>(dim) : std::nullopt;
}

LogicalResult RreluTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_drawn(*this, operands[0], operands.drop_front(2)))) return failure();
  if (failed(require_fit(*this, operands[0], operands[1], "a value"))) return failure();
  double lower = getLower().convertToDouble(), upper = getUpper().convertToDouble();
  if (!(lower <= upper)) return emitError("expects slopes from a lower to an upper one, but got ") << lower << " and " << upper;
  results.push_back(operands[0]);
  return success();
}
bool RreluTrainOp::usesCoordinates() { return true; }
bool RreluTrainOp::usesSizes() { return draws_by_sizes(*this); }
Value RreluTrainOp::buildScalar(OpBuilder& b, Location loc, ValueRange in) {
  double lower = getLower().convertToDouble(), upper = getUpper().convertToDouble();
  Value uniform = draw(*this, b, loc, in, [](int64_t) { return true; });
  Value slope = scalar::add(b, loc, scalar::mul(b, loc, uniform, scalar::constant(b, loc, upper - lower)),
                            scalar::constant(b, loc, lower));
  return scalar::choose(b, loc, arith::CmpFPredicate::OLE, in[1], scalar::constant(b, loc, 0),
                        scalar::mul(b, loc, in[0], slope), in[0]);
}
std::optional<int64_t> RreluTrainOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  return operand < 2 ? std::optional<int64_t>(dim) : std::nullopt;
}

// Losses -------------------------------------------------------------------------------------------------------------

/// Of one number for each target.
static FailureOr<TensorShape> shape_for_targets(Operation* op, const TensorShape& t, int64_t classes) {
  auto integers = dyn_cast<IntegerType>(t.element);
  if (!integers || integers.getWidth() < 32)
    return op->emitError("expects class indices of type int64 or int32, but got ") << t.element;
  if (classes < 1) return op->emitError("expects at least one class");
  return TensorShape{Float32Type::get(op->getContext()), t.dims};
}
/// `otherwise` where t is a class, 0 where it is `ignored`, NaN elsewhere.
static Value unless_ignored(OpBuilder& b, Location loc, Value t, int64_t classes, int64_t ignored, Value otherwise) {
  using arith::CmpIPredicate;
  auto select = [&](CmpIPredicate predicate, int64_t bound, Value then, double number) -> Value {
    Value limit = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(bound));
    return b.create<arith::SelectOp>(loc, b.create<arith::CmpIOp>(loc, predicate, t, limit), then,
                                     scalar::constant(b, loc, number));
  };
  // Read as unsigned, a negative index is large.
  Value weight = select(CmpIPredicate::ult, classes, otherwise, std::numeric_limits<double>::quiet_NaN());
  return select(CmpIPredicate::ne, ignored, weight, 0);
}
static Value as_i64(OpBuilder& b, Location loc, Value t) {
  return scalar::cast(b, loc, t, /*from_unsigned=*/false, b.getI64Type(), /*to_unsigned=*/false);
}

LogicalResult TargetWeightsOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  auto q = shape_for_targets(*this, operands[0], static_cast<int64_t>(getClasses()));
  if (failed(q)) return failure();
  q->dims.insert(q->dims.begin() + (operands[0].rank() ? 1 : 0), Extent(static_cast<int64_t>(getClasses())));
  results.push_back(*q);
  return success();
}
SmallVector<int64_t> TargetWeightsOp::operandDims(unsigned, int64_t operandRank, int64_t) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < operandRank; ++i) dims.push_back(i ? i + 1 : 0);
  return dims;
}
bool TargetWeightsOp::usesCoordinates() { return true; }
Value TargetWeightsOp::buildScalar(OpBuilder& b, Location loc, ValueRange in) {
  const auto classes = static_cast<int64_t>(getClasses());
  const double smoothing = getLabelSmoothing().convertToDouble(), other = smoothing / static_cast<double>(classes);
  Value t = as_i64(b, loc, in[0]), c = in.size() > 2 ? in[2] : in[1];
  Value is_class = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, t, c);
  Value weight = b.create<arith::SelectOp>(loc, is_class, scalar::constant(b, loc, 1 - smoothing + other),
                                           scalar::constant(b, loc, other));
  return unless_ignored(b, loc, t, classes, static_cast<int64_t>(getIgnoreIndex()), weight);
}
std::optional<int64_t> TargetWeightsOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}

LogicalResult TargetCountsOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  auto y = shape_for_targets(*this, operands[0], static_cast<int64_t>(getClasses()));
  if (failed(y)) return failure();
  results.push_back(*y);
  return success();
}
Value TargetCountsOp::buildScalar(OpBuilder& b, Location loc, ValueRange in) {
  return unless_ignored(b, loc, as_i64(b, loc, in[0]), static_cast<int64_t>(getClasses()),
                        static_cast<int64_t>(getIgnoreIndex()), scalar::constant(b, loc, 1));
}
std::optional<int64_t> TargetCountsOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}

LogicalResult TargetValuesOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &t = operands[0], &x = operands[1];
  const int64_t of_classes = dimOfClasses(x.rank());
  if (x.rank() != t.rank() + 1 || !x.dims[of_classes].is_static() || !x.element.isF32())
    return emitError("expects float32 values of classes whose number is known, but got ") << ir::to_string(x);
  auto y = shape_for_targets(*this, t, x.dims[of_classes].constant);
  if (failed(y)) return failure();
  TensorShape expected{x.element, t.dims};
  expected.dims.insert(expected.dims.begin() + of_classes, x.dims[of_classes]);
  if (failed(require_fit(*this, expected, x, "values"))) return failure();
  results.push_back(*y);
  return success();
}
/// t's dimension 0 is x's; behind it x has that of the classes.
std::optional<int64_t> TargetValuesOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  if (operand == 0) return dim;
  const int64_t of_classes = dimOfClasses(rank);
  if (dim == of_classes) return std::nullopt;
  return dim < of_classes ? dim : dim - 1;
}
