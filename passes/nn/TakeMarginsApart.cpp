// Lowers losses of margins between classes: torch.nn's MultiMarginLoss, MultiLabelMarginLoss and MultiLabelSoftMarginLoss. Part of
// nn-training-mode.
#include "passes/nn/LossBuilder.h"

#include <limits>

namespace sheaf::passes {

using namespace mlir;

namespace {

/// Of scores [N, C] or [C]; each row's loss is a sum over the classes, divided by their number.
class MarginLoss : LossBuilder {
 public:
  using LossBuilder::LossBuilder;

  LossParts parts() {
    StringRef kind = op_.getKind();
    mlir::Value each = kind == "MultiMarginLoss" ? to_one_class() : kind == "MultiLabelMarginLoss" ? to_classes() : soft();
    return over_vectors(map("mul", {sum_of_vectors(each)}, {1.0 / static_cast<double>(classes())}));
  }

 private:
  int64_t classes() { return type_of(x_).getShape().back(); }
  mlir::Value with_shape(mlir::Value x, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> sizes(shape);
    for (int64_t& size : sizes)
      if (ShapedType::isDynamic(size)) size = -1;
    return with_
        .make<nn::ReshapeOp>(RankedTensorType::get(shape, type_of(x).getElementType()), x,
                             with_.builder.getDenseI64ArrayAttr(sizes))
        ->getResult(0);
  }
  /// 0 where the weight is 0, whatever x is.
  mlir::Value weighted(mlir::Value weight, mlir::Value x) {
    return with_.make<nn::WeightedOp>(x.getType(), weight, x)->getResult(0);
  }
  mlir::Value one_less(mlir::Value x) { return map("add", {map("neg", {x}, {})}, {1}); }
  /// max(margin + x, 0).
  mlir::Value hinge(mlir::Value x, double margin) {
    return with_.make<nn::ReluOp>(x.getType(), map("add", {x}, {margin}))->getResult(0);
  }
  mlir::Value difference(RankedTensorType type, mlir::Value x, mlir::Value y) {
    return with_.make<nn::SubOp>(type, x, y)->getResult(0);
  }

  /// torch.nn.functional.multi_margin_loss: of each other class, max(0, margin - x[target] + x)ᵖ, times the target's weight.
  mlir::Value to_one_class() {
    Builder& b = with_.builder;
    RankedTensorType type = type_of(x_);
    // A number that is no class makes the loss NaN.
    mlir::Value is_target =
        with_
            .make<nn::TargetWeightsOp>(type, target_, b.getI64IntegerAttr(classes()),
                                       b.getI64IntegerAttr(std::numeric_limits<int64_t>::min()), b.getF64FloatAttr(0))
            ->getResult(0);
    mlir::Value own = sum_of_vectors(weighted(is_target, x_), /*keepdim=*/true);
    mlir::Value each = hinge(difference(type, x_, own), number("margin"));
    if (op_.getArguments().getAs<IntegerAttr>("p").getInt() == 2) each = product(each, each);
    each = weighted(one_less(is_target), each);
    mlir::Value weight = numbers("weight", type.getRank(), type.getRank() - 1);
    return weight ? product(each, sum_of_vectors(product(is_target, weight), /*keepdim=*/true)) : each;
  }

  /// torch.nn.functional.multilabel_margin_loss: of each target and each class that is none, max(0, 1 - x[target] + x). A row's
  /// targets end before its first negative number.
  mlir::Value to_classes() {
    Builder& b = with_.builder;
    RankedTensorType type = type_of(x_);
    auto last = b.getI64IntegerAttr(type.getRank() - 1);
    auto truth = RankedTensorType::get(type.getShape(), b.getI1Type());
    mlir::Value ends =
        with_.make<nn::MapOp>(truth, ValueRange(target_), b.getStringAttr("lt"), b.getDenseF64ArrayAttr({0}))->getResult(0);
    ends = with_.make<nn::CastOp>(type, ends, b.getStringAttr("float32"))->getResult(0);
    ends = with_.make<nn::CumSumOp>(type, ends, last, UnitAttr())->getResult(0);
    mlir::Value counts = one_less(map("clamp", {ends}, {0, 1}));
    mlir::Value target = map("clamp", {target_}, {0, std::numeric_limits<double>::infinity()});
    mlir::Value none = map("sub", {counts, counts}, {});
    mlir::Value named =
        with_.make<nn::ScatterElementsOp>(type, target, none, counts, last, /*add=*/b.getUnitAttr(), b.getF64FloatAttr(0))
            ->getResult(0);
    mlir::Value other = one_less(map("clamp", {named}, {0, 1}));
    mlir::Value own = with_.make<nn::GatherElementsOp>(type, target, x_, last)->getResult(0);
    // [N, target, class].
    SmallVector<int64_t> row(type.getShape()), column = row, pairs = row;
    row.insert(row.end() - 1, 1);
    column.push_back(1);
    pairs.push_back(classes());
    auto all = RankedTensorType::get(pairs, type.getElementType());
    mlir::Value apart = hinge(difference(all, with_shape(x_, row), with_shape(own, column)), 1);
    mlir::Value weight = with_.make<nn::MulOp>(all, with_shape(counts, column), with_shape(other, row))->getResult(0);
    return sum_of_vectors(weighted(weight, apart));
  }

  /// torch.nn.functional.multilabel_soft_margin_loss.
  mlir::Value soft() {
    const int64_t rank = type_of(x_).getRank();
    mlir::Value each = map("binary_cross_entropy_with_logits", {x_, target_}, {});
    mlir::Value weight = numbers("weight", rank, rank - 1);
    return weight ? product(each, weight) : each;
  }
};

}  // namespace

bool is_margin_loss(StringRef kind) {
  return kind == "MultiMarginLoss" || kind == "MultiLabelMarginLoss" || kind == "MultiLabelSoftMarginLoss";
}

LossParts take_margins_apart(nn::LossOp op, bool undivided) { return MarginLoss(op, undivided).parts(); }

}  // namespace sheaf::passes
