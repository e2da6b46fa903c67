// Lowers PyTorch's losses to ops that have kernels and gradients. Part of nn-training-mode.
#include "ir/ElementFunctions.h"
#include "passes/nn/LossBuilder.h"

namespace sheaf::passes {

using namespace mlir;

namespace {

class Loss : LossBuilder {
 public:
  using LossBuilder::LossBuilder;

  LossParts parts() {
    StringRef kind = op_.getKind();
    if (kind == "CrossEntropyLoss" && isa<FloatType>(type_of(target_).getElementType())) return probabilities();
    if (kind == "CrossEntropyLoss" || kind == "NLLLoss") return classification();
    if (kind == "CTCLoss") return sequences();
    if (kind == "CosineEmbeddingLoss") return over_vectors(cosine());
    return kind == "TripletMarginLoss" ? over_vectors(triplet()) : elementwise();
  }

 private:
  LossParts elementwise() {
    Builder& b = with_.builder;
    const int64_t rank = type_of(x_).getRank(), last = rank > 0 ? rank - 1 : 0;
    SmallVector<mlir::Value> operands = inputs_;
    if (mlir::Value positive = numbers("pos_weight", rank, last)) operands.push_back(positive);
    const ir::ElementFunction& function = *llvm::find_if(ir::element_losses(), [&](const ir::ElementFunction& row) {
      return row.loss == op_.getKind() && row.operands == operands.size();
    });
    mlir::Value each =
        with_.make<nn::MapOp>(x_.getType(), operands, b.getStringAttr(function.name), own_numbers(function))->getResult(0);
    if (mlir::Value weight = numbers("weight", rank, last)) each = product(each, weight);
    SmallVector<int64_t> counted = all_dims(target_);
    if (by_batch_) counted = {0};
    if (!mean_) return {sum(each), {}};
    if (!undivided_ && !by_batch_) return {average(each), {}};
    // The count is the target's; no gradient goes through it.
    if (!undivided_) return {product(sum(each), inverse_count(target_, counted)), {}};
    return {sum(each), quotient(constant(1), inverse_count(target_, counted))};
  }

  /// torch.nn.functional.ctc_loss: a mean is one of the rows' losses, each divided by its target's length.
  LossParts sequences() {
    Builder& b = with_.builder;
    ArrayRef<int64_t> x = type_of(x_).getShape(), targets = type_of(target_).getShape();
    mlir::Type element = b.getF32Type();
    auto of = [&](StringRef name) { return op_.getArguments().get(name); };
    const int64_t states = ShapedType::isDynamic(targets[1]) ? ShapedType::kDynamic : 2 * targets[1] + 1;
    auto made = with_.make<nn::CtcLossOp>(
        TypeRange{RankedTensorType::get({x[1]}, element), RankedTensorType::get({x[1], x[0], states}, element)}, x_, target_,
        inputs_[2], inputs_[3], b.getI64IntegerAttr(cast<IntegerAttr>(of("blank")).getInt()),
        cast<BoolAttr>(of("zero_infinity")), b.getBoolAttr(mean_));
    mlir::Value each = made.getLosses();
    if (!mean_) return {sum(each), {}};
    if (!undivided_) return {average(each), {}};
    return {sum(each), quotient(constant(1), inverse_count(target_, {0}))};
  }

  /// torch.nn.functional.cosine_embedding_loss.
  mlir::Value cosine() {
    auto dot = [&](mlir::Value a, mlir::Value b) { return sum_of_vectors(product(a, b)); };
    mlir::Value a = inputs_[0], b = inputs_[1];
    return map("cosine_embedding_loss", {dot(a, b), dot(a, a), dot(b, b), inputs_[2]}, {number("margin")});
  }

  /// torch.nn.functional.triplet_margin_loss.
  mlir::Value triplet() {
    const double p = number("p"), eps = number("eps");
    auto distance = [&](mlir::Value a, mlir::Value b) {
      mlir::Value difference = map("add", {map("sub", {a, b}, {})}, {eps});
      return map("norm_root", {sum_of_vectors(map("power_of_size", {difference}, {p}))}, {p});
    };
    mlir::Value negative = distance(inputs_[0], inputs_[2]);
    if (op_.getArguments().getAs<BoolAttr>("swap").getValue())
      negative = map("minimum", {negative, distance(inputs_[1], inputs_[2])}, {});
    return map("triplet_margin_loss", {distance(inputs_[0], inputs_[1]), negative}, {number("margin")});
  }

  DenseF64ArrayAttr own_numbers(const ir::ElementFunction& function) {
    SmallVector<double> values;
    for (StringRef name : function.arguments) {
      mlir::Attribute argument = op_.getArguments().get(name);
      auto flag = dyn_cast<BoolAttr>(argument);
      values.push_back(flag ? (flag.getValue() ? 1 : 0) : cast<FloatAttr>(argument).getValueAsDouble());
    }
    return with_.builder.getDenseF64ArrayAttr(values);
  }

  /// -Σ q·w·log p with q the smoothed target. A mean is taken over the positions, whatever the weights
  /// (torch.nn.functional.cross_entropy with probabilities).
  LossParts probabilities() {
    Builder& b = with_.builder;
    RankedTensorType type = type_of(x_);
    int64_t dim = type.getRank() > 1 ? 1 : 0;
    mlir::Value q = target_;
    auto smoothing = op_.getArguments().getAs<FloatAttr>("label_smoothing");
    if (double epsilon = smoothing ? smoothing.getValueAsDouble() : 0; epsilon > 0) {
      q = with_.make<nn::ScaleOp>(type, q, b.getF64FloatAttr(1 - epsilon))->getResult(0);
      q = with_.make<nn::AddOp>(type, q, constant(epsilon / static_cast<double>(type.getDimSize(dim))))->getResult(0);
    }
    if (mlir::Value weight = numbers("weight", type.getRank(), dim)) q = product(q, weight);
    mlir::Value log = with_.make<nn::SoftmaxOp>(type, x_, b.getI64IntegerAttr(dim), b.getBoolAttr(true))->getResult(0);
    mlir::Value each = product(log, q);
    mlir::Value total = with_.make<nn::ScaleOp>(with_.scalar(), sum(each), b.getF64FloatAttr(-1))->getResult(0);
    if (!mean_) return {total, {}};
    SmallVector<int64_t> positions = all_dims(each);
    positions.erase(positions.begin() + dim);
    // The count is the target's; no gradient goes through it.
    mlir::Value inverse = inverse_count(target_, positions);
    return undivided_ ? LossParts{total, quotient(constant(1), inverse)} : LossParts{product(total, inverse), {}};
  }

  /// -Σ q·log p; a mean divides by the sum of the targets' weights (torch.nn.functional.cross_entropy).
  LossParts classification() {
    Builder& b = with_.builder;
    mlir::Value scores = x_;
    RankedTensorType type = type_of(scores);
    int64_t dim = type.getRank() > 1 ? 1 : 0;
    auto ignored = op_.getArguments().getAs<IntegerAttr>("ignore_index");
    auto smoothing = op_.getArguments().getAs<FloatAttr>("label_smoothing");
    mlir::Value weight = numbers("weight", type.getRank(), dim);
    auto weights = [&](double epsilon) -> mlir::Value {
      mlir::Value q =
          with_
              .make<nn::TargetWeightsOp>(type, op_.getInputs()[1], b.getI64IntegerAttr(type.getDimSize(dim)),
                                         b.getI64IntegerAttr(ignored ? ignored.getInt() : -100), b.getF64FloatAttr(epsilon))
              ->getResult(0);
      return weight ? product(q, weight) : q;
    };
    mlir::Value log = scores;
    if (op_.getKind() == "CrossEntropyLoss")
      log = with_.make<nn::SoftmaxOp>(type, scores, b.getI64IntegerAttr(dim), b.getBoolAttr(true))->getResult(0);
    mlir::Value each =
        with_.make<nn::WeightedOp>(type, weights(smoothing ? smoothing.getValueAsDouble() : 0), log)->getResult(0);
    mlir::Value total = with_.make<nn::ScaleOp>(with_.scalar(), sum(each), b.getF64FloatAttr(-1))->getResult(0);
    if (!mean_) return {total, {}};
    mlir::Value divisor = sum(weights(0));
    return undivided_ ? LossParts{total, divisor} : LossParts{quotient(total, divisor), {}};
  }
};

}  // namespace

LossParts take_apart(nn::LossOp op, bool undivided) {
  return is_margin_loss(op.getKind()) ? take_margins_apart(op, undivided) : Loss(op, undivided).parts();
}

}  // namespace sheaf::passes
