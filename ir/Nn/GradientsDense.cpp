// Duals of linear layers, convolutions, matrix products and embedding.
#include "ir/Nn/Nn.h"

using namespace mlir;
using namespace sheaf::nn;

namespace {

/// Whether an op is still as in the model: fusion, which runs after differentiation, adds to it.
template <typename Op>
bool is_plain(Op op) {
  bool fused = static_cast<bool>(op.getActivation());
  if constexpr (!std::is_same_v<Op, ConvTransposeOp>) fused |= static_cast<bool>(op.getResidual());
  if (fused) op.emitError("has no gradient once an activation or a residual is fused into it");
  return !fused;
}

/// All dimensions except the channels.
SmallVector<int64_t> dims_but_channels(Value x) {
  SmallVector<int64_t> dims = {0};
  for (int64_t i = 2; i < GradientBuilder::type(x).getRank(); ++i) dims.push_back(i);
  return dims;
}

/// The gradients of a weight and, if wanted, of the bias: results 0 and 1 of `Op`.
template <typename Op, typename... Args>
std::pair<Value, Value> weight_gradients(GradientBuilder& gradients, Value weight, Value bias, Args... arguments) {
  bool both = gradients.needed(bias);
  auto summed = [](Value x) -> Type {
    return RankedTensorType::get(GradientBuilder::type(x).getShape(), sum_type(GradientBuilder::type(x).getElementType()));
  };
  SmallVector<Type> types = {summed(weight)};
  if (both) types.push_back(summed(bias));
  auto op = gradients.builder.create<Op>(gradients.loc, types, arguments..., gradients.builder.getBoolAttr(both));
  return {op->getResult(0), both ? op->getResult(1) : Value()};
}

}  // namespace

void LinearOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (!is_plain(*this)) return;
  Value dy = results[0];
  if (gradients.needed(0u))
    operands[0] = gradients.make<LinearBackwardDataOp>(getX().getType(), dy, gradients.forward(getWeight()));
  if (gradients.needed(1u)) {
    auto [weight, bias] =
        weight_gradients<LinearBackwardWeightOp>(gradients, getWeight(), getBias(), gradients.forward(getX()), dy);
    operands[1] = weight;
    if (bias) operands[2] = bias;
  } else if (gradients.needed(getBias())) {
    operands[2] = gradients.sum(dy, llvm::to_vector(llvm::seq<int64_t>(0, gradients.type(dy).getRank() - 1)), false);
  }
}

void ConvOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (!is_plain(*this)) return;
  Value dy = results[0];
  Builder& attributes = gradients.builder;
  size_t spatial = getStride().size();
  auto x = cast<RankedTensorType>(getX().getType()), weight = cast<RankedTensorType>(getWeight().getType());
  if (x.getRank() != static_cast<int64_t>(spatial) + 2) {
    emitError("has no gradient without a batch dimension: nn-lower-layers adds it");
    return;
  }
  if (gradients.needed(0u))
    operands[0] = gradients.make<ConvBackwardDataOp>(
        x, dy, gradients.forward(getWeight()), getStrideAttr(), getPaddingBeginAttr(), getPaddingEndAttr(), getDilationAttr(),
        getGroupsAttr(), attributes.getDenseI64ArrayAttr(x.getShape().take_back(spatial)));
  if (gradients.needed(1u)) {
    std::tie(operands[1], dy) = weight_gradients<ConvBackwardWeightOp>(
        gradients, getWeight(), getBias(), gradients.forward(getX()), dy, getStrideAttr(), getPaddingBeginAttr(),
        getPaddingEndAttr(), getDilationAttr(), getGroupsAttr(),
        attributes.getDenseI64ArrayAttr(weight.getShape().take_back(spatial)));
    if (getBias()) operands[2] = dy;
  } else if (gradients.needed(getBias())) {
    operands[2] = gradients.sum(dy, dims_but_channels(dy), false);
  }
}

/// The dual of a transposed convolution is a convolution with the same weight: dx = conv(dy).
void ConvTransposeOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (!is_plain(*this)) return;
  Value dy = results[0];
  Builder& attributes = gradients.builder;
  size_t spatial = getStride().size();
  auto x = cast<RankedTensorType>(getX().getType()), weight = cast<RankedTensorType>(getWeight().getType());
  if (x.getRank() != static_cast<int64_t>(spatial) + 2) {
    emitError("has no gradient without a batch dimension: nn-lower-layers adds it");
    return;
  }
  if (gradients.needed(getBias())) operands[2] = gradients.sum(dy, dims_but_channels(dy), false);
  // Output padding is a margin at the end that no window reaches. If it is smaller than a stride, the convolution's rounding
  // drops it; a larger one is taken from the convolution's padding, then cut off.
  SmallVector<int64_t> padding_end(getPadding());
  for (size_t i = 0; i < spatial; ++i) {
    int64_t margin = getOutputPadding()[i];
    if (margin < getStride()[i]) continue;
    int64_t cut = std::max<int64_t>(0, margin - padding_end[i]);
    padding_end[i] -= margin - cut;
    int64_t dim = static_cast<int64_t>(i) + 2;
    dy = gradients.slice(dy, dim, 0, gradients.type(dy).getDimSize(dim) - cut);
  }
  DenseI64ArrayAttr end = attributes.getDenseI64ArrayAttr(padding_end);
  if (gradients.needed(0u))
    operands[0] =
        gradients.make<ConvOp>(x, dy, gradients.forward(getWeight()), /*bias=*/Value(), /*residual=*/Value(), getStrideAttr(),
                               getPaddingAttr(), end, getDilationAttr(), getGroupsAttr(), DictionaryAttr());
  if (gradients.needed(1u))
    operands[1] = weight_gradients<ConvBackwardWeightOp>(
                      gradients, getWeight(), Value(), dy, gradients.forward(getX()), getStrideAttr(), getPaddingAttr(), end,
                      getDilationAttr(), getGroupsAttr(), attributes.getDenseI64ArrayAttr(weight.getShape().take_back(spatial)))
                      .first;
}

/// With A and B the factors as multiplied, dA = dY · Bᵀ and dB = Aᵀ · dY.
void MatMulOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  auto rank = [](Value value) { return GradientBuilder::type(value).getRank(); };
  bool ta = getTransposeA(), tb = getTransposeB(), vector_a = rank(getA()) == 1, vector_b = rank(getB()) == 1;
  // A vector is a matrix with one row (a) or one column (b).
  auto as_matrix = [&](Value value, bool row) {
    ArrayRef<int64_t> shape = GradientBuilder::type(value).getShape();
    if (shape.size() != 1) return value;
    return gradients.reshape(value, row ? SmallVector<int64_t>{1, shape[0]} : SmallVector<int64_t>{shape[0], 1});
  };
  SmallVector<int64_t> sizes(gradients.type(results[0]).getShape());
  if (vector_b) sizes.push_back(1);
  if (vector_a) sizes.insert(sizes.end() - 1, 1);
  Value dy = gradients.reshape(results[0], sizes);
  auto finish = [&](Value gradient, Value matrix, Value operand) {
    return gradients.reshape(gradients.sum_to(gradient, matrix), GradientBuilder::type(operand).getShape());
  };
  if (gradients.needed(0u)) {
    Value b = as_matrix(gradients.forward(getB()), false),
          like = vector_a ? as_matrix(gradients.forward(getA()), true) : getA();
    Value da = ta ? gradients.matmul(b, dy, tb, true) : gradients.matmul(dy, b, false, !tb);
    operands[0] = finish(da, like, getA());
  }
  if (!gradients.needed(1u)) return;
  Value a = as_matrix(gradients.forward(getA()), true);
  if (rank(getB()) == 2 && rank(a) > 2 && !ta) {
    // All of a's matrices share b, so one product includes the sum over them.
    auto flat = [&](Value x) {
      ArrayRef<int64_t> shape = GradientBuilder::type(x).getShape();
      int64_t rows = 1;
      for (int64_t size : shape.drop_back())
        rows = ShapedType::isDynamic(rows) || ShapedType::isDynamic(size) ? ShapedType::kDynamic : rows * size;
      return gradients.reshape(x, {rows, shape.back()});
    };
    operands[1] = tb ? gradients.matmul(flat(dy), flat(a), true, false) : gradients.matmul(flat(a), flat(dy), true, false);
    return;
  }
  Value like = vector_b ? as_matrix(gradients.forward(getB()), false) : getB();
  Value db = tb ? gradients.matmul(dy, a, true, ta) : gradients.matmul(a, dy, !ta, false);
  operands[1] = finish(db, like, getB());
}

void EmbeddingOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  auto table = cast<RankedTensorType>(getWeight().getType());
  if (gradients.needed(1u))
    operands[1] = gradients.make<EmbeddingBackwardOp>(table, gradients.forward(getX()), results[0],
                                                      gradients.builder.getI64IntegerAttr(table.getDimSize(0)),
                                                      gradients.builder.getI64IntegerAttr(getPaddingIdx().value_or(-1)));
}
