// Shapes of losses and constants.
#include "ir/ElementFunctions.h"
#include "ir/Nn/ShapeRules.h"
#include "ir/ScalarArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
namespace ir = sheaf::ir;
namespace scalar = sheaf::ir::scalar;
using namespace sheaf::nn;
using ir::TensorShape;

/// Class probabilities: target and x have one shape, [N, C, d…] or [C].
static LogicalResult check_probabilities(LossOp op, const TensorShape& x, const TensorShape& target) {
  if (x.rank() == 0 || !x.dims[x.rank() > 1 ? 1 : 0].is_static())
    return op.emitError("takes scores of shape [batch, classes, …], but they are ") << to_string(x);
  if (!may_fit(x, target))
    return op.emitError("takes scores and a target of probabilities of one shape, but they are ")
           << to_string(x) << " and " << to_string(target) << "; class numbers are an int64 target";
  auto ignored = op.getArguments().getAs<IntegerAttr>("ignore_index");
  if (ignored && ignored.getInt() >= 0) return op.emitError("has no 'ignore_index' if the target is probabilities");
  return success();
}

/// x [N, C, d…] with target [N, d…]; x [C] with target [].
static LogicalResult check_classes(LossOp op, const TensorShape& x, const TensorShape& target) {
  if (isa<FloatType>(target.element) && op.getKind() == "CrossEntropyLoss") return check_probabilities(op, x, target);
  auto integers = dyn_cast<IntegerType>(target.element);
  if (!integers || integers.getWidth() < 32)
    return op.emitError("takes class indices of type int64 or int32 as its target; its target is ")
           << dtype_name(target.element);
  TensorShape expected{target.element, {}};
  int64_t class_dim = x.rank() > 1 ? 1 : 0;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i != class_dim) expected.dims.push_back(x.dims[i]);
  if (x.rank() == 0 || !x.dims[class_dim].is_static())
    return op.emitError("takes scores of shape [batch, classes, …], but they are ") << to_string(x);
  if (!may_fit(expected, target))
    return op.emitError("takes scores of shape ")
           << to_string(x) << " with a target of shape " << to_string(expected) << ", but the target is " << to_string(target);
  return success();
}

/// Argument `name` must have `size` numbers; if `one` is true, a single number for all is enough.
static LogicalResult check_weights(LossOp op, StringRef name, const sheaf::Extent& size, bool one, const Twine& what) {
  auto list = op.getArguments().getAs<ArrayAttr>(name);
  if (!list || sheaf::Extent(static_cast<int64_t>(list.size())) == size || (one && list.size() == 1)) return success();
  return op.emitError("has ") << list.size() << (list.size() == 1 ? " number" : " numbers") << " in '" << name << "', but "
                              << what << " has " << sheaf::to_string(size);
}

/// One number for each element. All operands have one shape, except that `narrow` may have a last dimension of 1 (-1: none
/// may).
static LogicalResult check_elements(LossOp op, ArrayRef<TensorShape> inputs, int64_t narrow) {
  const TensorShape& x = inputs[0];
  for (auto [i, input] : llvm::enumerate(inputs.drop_front())) {
    TensorShape last_of_one = x;
    if (static_cast<int64_t>(i) + 1 == narrow && x.rank() > 0) last_of_one.dims.back() = sheaf::Extent(1);
    if (!may_fit(x, input) && !may_fit(last_of_one, input))
      return op.emitError("takes a value and a target of one shape, but they are ")
             << to_string(x) << " and " << to_string(input);
  }
  for (StringRef name : {"weight", "pos_weight"})
    if (failed(check_weights(op, name, x.rank() > 0 ? x.dims.back() : sheaf::Extent(1), true, "the last dimension")))
      return failure();
  return success();
}

/// One number for each vector along the last dimension; with `targets`, each vector has a target.
static LogicalResult check_vectors(LossOp op, ArrayRef<TensorShape> inputs, bool targets) {
  const TensorShape& x = inputs[0];
  if (x.rank() == 0 || !x.dims.back().is_static())
    return op.emitError("takes vectors along a last dimension of known size, but they are ") << to_string(x);
  for (const TensorShape& other : inputs.slice(1, inputs.size() - (targets ? 2 : 1)))
    if (!may_fit(x, other))
      return op.emitError("takes vectors of one shape, but they are ") << to_string(x) << " and " << to_string(other);
  TensorShape expected = x;
  expected.dims.pop_back();
  if (targets && !may_fit(expected, inputs.back()))
    return op.emitError("takes a target of shape ")
           << to_string(expected) << " for vectors " << to_string(x) << ", but it is " << to_string(inputs.back());
  return success();
}

/// Scores [N, C] or [C]. Targets are classes: a list of them for each row, [N, C], or with `one` one of them, [N].
static LogicalResult check_margins(LossOp op, const TensorShape& x, const TensorShape& target, bool one) {
  if (x.rank() < 1 || x.rank() > 2 || !x.dims.back().is_static())
    return op.emitError("takes scores of shape [batch, classes], but they are ") << to_string(x);
  auto integers = dyn_cast<IntegerType>(target.element);
  if (!integers || integers.getWidth() < 32)
    return op.emitError("takes class indices of type int64 or int32 as its target; its target is ")
           << dtype_name(target.element);
  TensorShape expected{target.element, x.dims};
  if (one) expected.dims.pop_back();
  if (!may_fit(expected, target))
    return op.emitError("takes scores of shape ")
           << to_string(x) << " with a target of shape " << to_string(expected) << ", but the target is " << to_string(target);
  return success();
}

/// Scores of classes along the last dimension, and whether each is a target.
static LogicalResult check_soft_margins(LossOp op, const TensorShape& x, const TensorShape& target) {
  if (x.rank() < 1 || !x.dims.back().is_static())
    return op.emitError("takes scores of shape [batch, …, classes], but they are ") << to_string(x);
  if (!isa<FloatType>(target.element))
    return op.emitError("takes a target of floating point, but it is ") << dtype_name(target.element);
  if (!may_fit(x, target))
    return op.emitError("takes a value and a target of one shape, but they are ")
           << to_string(x) << " and " << to_string(target);
  return success();
}

/// A loss of margins between classes; its `weight` has a number for each.
static LogicalResult infer_margins(LossOp op, ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (operands.size() != 2) return op.emitError("takes 2 inputs, but has ") << operands.size();
  const TensorShape &x = operands[0], &target = operands[1];
  if (!isa<FloatType>(x.element)) return op.emitError("takes a value of floating point, but it is ") << dtype_name(x.element);
  const StringRef kind = op.getKind();
  if (failed(kind == "MultiLabelSoftMarginLoss" ? check_soft_margins(op, x, target)
                                                : check_margins(op, x, target, kind == "MultiMarginLoss")) ||
      failed(check_weights(op, "weight", x.dims.back(), false, "the dimension of the classes")))
    return failure();
  results.push_back({sum_type(x.element), {}});
  return success();
}

LogicalResult LossOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  StringRef kind = getKind();
  if (kind == "MultiMarginLoss" || kind == "MultiLabelMarginLoss" || kind == "MultiLabelSoftMarginLoss")
    return infer_margins(*this, operands, results);
  if (kind == "CTCLoss") {
    if (operands.size() != 4) return emitError("takes 4 inputs, but has ") << operands.size();
    if (!isa<FloatType>(operands[0].element))
      return emitError("takes a value of floating point, but it is ") << dtype_name(operands[0].element);
    if (failed(check_ctc(*this, operands))) return failure();
    auto blank = getArguments().getAs<IntegerAttr>("blank");
    const sheaf::Extent& classes = operands[0].dims[2];
    if (blank && classes.is_static() && blank.getInt() >= classes.constant)
      return emitError("has the blank ") << blank.getInt() << ", but " << to_string(operands[0]) << " has only "
                                         << classes.constant << " classes";
    results.push_back({sum_type(operands[0].element), {}});
    return success();
  }
  const bool classes = kind == "CrossEntropyLoss" || kind == "NLLLoss";
  const auto elements = llvm::find_if(ir::element_losses(), [&](const ir::ElementFunction& row) { return row.loss == kind; });
  const bool vectors = kind == "CosineEmbeddingLoss" || kind == "TripletMarginLoss";
  if (!classes && !vectors && elements == ir::element_losses().end()) return emitError("knows no loss '") << kind << "'";
  const size_t expected = classes ? 2 : vectors ? 3 : elements->operands;
  if (operands.size() != expected) return emitError("takes ") << expected << " inputs, but has " << operands.size();
  const TensorShape& x = operands[0];
  if (auto reduction = getArguments().getAs<StringAttr>("reduction"); reduction && reduction == "batchmean" && x.rank() == 0)
    return emitError("has no dimension to take the mean 'batchmean' over: its value is one number");
  for (const TensorShape& operand : operands.take_front(classes ? 1 : expected))
    if (!isa<FloatType>(operand.element))
      return emitError(&operand == &x ? "takes a value of floating point, but it is "
                                      : "takes a target of floating point, but it is ")
             << dtype_name(operand.element);
  if (failed(classes   ? check_classes(*this, x, operands[1])
             : vectors ? check_vectors(*this, operands, kind == "CosineEmbeddingLoss")
                       : check_elements(*this, operands, kind == "GaussianNLLLoss" ? 2 : -1)))
    return failure();
  if (classes && failed(check_weights(*this, "weight", x.dims[x.rank() > 1 ? 1 : 0], false, "the dimension of the classes")))
    return failure();
  results.push_back({sum_type(x.element), {}});
  return success();
}

/// A loss is one number for all rows.
std::optional<int64_t> LossOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }

LogicalResult FillOp::inferShapes(ArrayRef<TensorShape>, SmallVectorImpl<TensorShape>& results) {
  results.push_back({Float32Type::get(getContext()), {}});
  return success();
}

Value FillOp::buildScalar(OpBuilder& builder, Location loc, ValueRange) {
  return builder.create<arith::ConstantOp>(loc, builder.getF32FloatAttr(getValue().convertToDouble()));
}

LogicalResult ConstantOp::inferShapes(ArrayRef<TensorShape>, SmallVectorImpl<TensorShape>& results) {
  TensorShape y{Float32Type::get(getContext()), {}};
  int64_t size = 1;
  for (int64_t dim : getShape()) {
    if (dim < 1) return emitError("expects sizes of at least 1, but got ") << dim;
    size *= dim;
    y.dims.push_back(dim);
  }
  if (size != static_cast<int64_t>(getValues().size()))
    return emitError("expects ") << size << " numbers for " << to_string(y) << ", but got " << getValues().size();
  results.push_back(y);
  return success();
}
std::optional<int64_t> ConstantOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }

LogicalResult WeightedOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_fit(*this, operands[0], operands[1], "a value"))) return failure();
  return same_shape(*this, operands, results);
}
std::optional<int64_t> WeightedOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}
Value WeightedOp::buildScalar(OpBuilder& b, Location loc, ValueRange in) {
  Value zero = scalar::constant(b, loc, 0);
  return scalar::choose(b, loc, arith::CmpFPredicate::OEQ, in[0], zero, zero, scalar::mul(b, loc, in[0], in[1]));
}
void WeightedOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (gradients.needed(0u)) {
    emitError("has no gradient of its weight");
  } else if (gradients.needed(1u)) {
    operands[1] = gradients.mul(results[0], gradients.forward(getWeight()));
  }
}
