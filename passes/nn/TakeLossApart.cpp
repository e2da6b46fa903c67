// Lowers PyTorch's losses to ops that have kernels and gradients. Part of nn-training-mode.
#include "ir/ElementFunctions.h"
#include "passes/nn/Replacement.h"

#include "llvm/ADT/Sequence.h"

namespace sheaf::passes {

using namespace mlir;

namespace {

class Loss {
 public:
  Loss(nn::LossOp op, bool undivided) : op_(op), with_(op), undivided_(undivided) {
    for (mlir::Value input : op.getInputs()) inputs_.push_back(wide(input));
    x_ = inputs_[0], target_ = inputs_[1];
    auto reduction = op.getArguments().getAs<StringAttr>("reduction");
    by_batch_ = reduction && reduction.getValue() == "batchmean";
    mean_ = !reduction || reduction.getValue() == "mean" || by_batch_;
  }

  LossParts parts() {
    StringRef kind = op_.getKind();
    if (kind == "CrossEntropyLoss" && isa<FloatType>(type_of(target_).getElementType())) return probabilities();
    if (kind == "CrossEntropyLoss" || kind == "NLLLoss") return classification();
    if (kind == "CTCLoss") return sequences();
    if (kind == "CosineEmbeddingLoss") return over_vectors(cosine());
    return kind == "TripletMarginLoss" ? over_vectors(triplet()) : elementwise();
  }

 private:
  /// A loss is computed in f32, whatever the model's outputs and targets are.
  mlir::Value wide(mlir::Value value) {
    Builder& b = with_.builder;
    RankedTensorType type = type_of(value);
    if (!isa<FloatType>(type.getElementType()) || type.getElementType().isF32()) return value;
    return with_.make<nn::CastOp>(RankedTensorType::get(type.getShape(), b.getF32Type()), value, b.getStringAttr("float32"))
        ->getResult(0);
  }

  SmallVector<int64_t> all_dims(mlir::Value value) { return llvm::to_vector(llvm::seq<int64_t>(0, type_of(value).getRank())); }

  mlir::Value sum(mlir::Value x) {
    Builder& b = with_.builder;
    return with_.make<nn::SumOp>(with_.scalar(), x, b.getDenseI64ArrayAttr(all_dims(x)), b.getBoolAttr(false))->getResult(0);
  }
  mlir::Value product(mlir::Value x, mlir::Value y) { return with_.make<nn::MulOp>(x.getType(), x, y)->getResult(0); }
  mlir::Value quotient(mlir::Value x, mlir::Value y) { return with_.make<nn::DivOp>(with_.scalar(), x, y)->getResult(0); }

  /// The numbers of argument `name`, as a tensor of `rank` dimensions that runs along dimension `dim`; null if there are none.
  mlir::Value numbers(StringRef name, int64_t rank, int64_t dim) {
    auto list = op_.getArguments().getAs<ArrayAttr>(name);
    if (!list) return {};
    SmallVector<double> values;
    for (mlir::Attribute number : list) values.push_back(cast<FloatAttr>(number).getValueAsDouble());
    // Leading dimensions are left out: broadcasting aligns at the end.
    SmallVector<int64_t> shape(rank - dim, 1);
    if (rank > 0) shape[0] = static_cast<int64_t>(values.size());
    Builder& b = with_.builder;
    return with_
        .make<nn::ConstantOp>(RankedTensorType::get(shape, b.getF32Type()), op_.getInputs()[1], b.getDenseF64ArrayAttr(values),
                              b.getDenseI64ArrayAttr(shape))
        ->getResult(0);
  }

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

  /// One number for each vector along the last dimension, summed or averaged.
  LossParts over_vectors(mlir::Value each) {
    if (!mean_) return {sum(each), {}};
    if (!undivided_) return {average(each), {}};
    // As many as x has vectors; the count has no gradient.
    SmallVector<int64_t> counted = all_dims(x_);
    counted.pop_back();
    return {sum(each), quotient(constant(1), inverse_count(x_, counted))};
  }

  /// torch.nn.functional.ctc_loss: a mean is one of the rows' losses, each divided by its target's length.
  LossParts sequences() {
    Builder& b = with_.builder;
    ArrayRef<int64_t> x = type_of(x_).getShape(), targets = type_of(target_).getShape();
    mlir::Type element = b.getF32Type();
    auto of = [&](StringRef name) { return op_.getArguments().get(name); };
    auto made = with_.make<nn::CtcLossOp>(
        TypeRange{RankedTensorType::get({x[1]}, element), RankedTensorType::get({x[1], x[0], 2 * targets[1] + 1}, element)}, x_,
        target_, inputs_[2], inputs_[3], b.getI64IntegerAttr(cast<IntegerAttr>(of("blank")).getInt()),
        cast<BoolAttr>(of("zero_infinity")), b.getBoolAttr(mean_));
    mlir::Value each = made.getLosses();
    if (!mean_) return {sum(each), {}};
    if (!undivided_) return {average(each), {}};
    return {sum(each), quotient(constant(1), inverse_count(target_, {0}))};
  }

  mlir::Value map(StringRef function, ArrayRef<mlir::Value> operands, ArrayRef<double> numbers) {
    return with_
        .make<nn::MapOp>(operands[0].getType(), operands, with_.builder.getStringAttr(function),
                         with_.builder.getDenseF64ArrayAttr(numbers))
        ->getResult(0);
  }
  mlir::Value sum_of_vectors(mlir::Value x) {
    Builder& b = with_.builder;
    RankedTensorType type = type_of(x);
    return with_
        .make<nn::SumOp>(RankedTensorType::get(type.getShape().drop_back(), type.getElementType()), x,
                         b.getDenseI64ArrayAttr({type.getRank() - 1}), b.getBoolAttr(false))
        ->getResult(0);
  }
  double number(StringRef name) { return op_.getArguments().getAs<FloatAttr>(name).getValueAsDouble(); }

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

  mlir::Value constant(double value) {
    Builder& b = with_.builder;
    return with_
        .make<nn::ConstantOp>(with_.scalar(), op_.getInputs()[1], b.getDenseF64ArrayAttr({value}), b.getDenseI64ArrayAttr({}))
        ->getResult(0);
  }
  mlir::Value inverse_count(mlir::Value like, ArrayRef<int64_t> dims) {
    return with_.make<nn::InverseCountOp>(with_.scalar(), like, with_.builder.getDenseI64ArrayAttr(dims))->getResult(0);
  }

  mlir::Value average(mlir::Value x) {
    Builder& b = with_.builder;
    if (type_of(x).getRank() == 0) return x;
    return with_.make<nn::MeanOp>(with_.scalar(), x, b.getDenseI64ArrayAttr(all_dims(x)), b.getBoolAttr(false))->getResult(0);
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

  nn::LossOp op_;
  Replacement with_;
  SmallVector<mlir::Value> inputs_;  ///< in f32, as are
  mlir::Value x_, target_;           ///< the first two
  bool undivided_, mean_ = true;
  bool by_batch_ = false;  ///< the mean is over the first dimension only
};

}  // namespace

LossParts take_apart(nn::LossOp op, bool undivided) { return Loss(op, undivided).parts(); }

}  // namespace sheaf::passes
