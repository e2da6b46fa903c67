// Lowers sums over the classes of classification's weights, and of values weighted by them, to one number for each target, so that no
// tensor of all classes is made or read for them.
#include "passes/nn/LowerPatterns.h"
#include "passes/nn/NnBuilder.h"

namespace sheaf::passes {

using namespace mlir;

namespace {

/// The number that `value` has everywhere, as a 0-dimensional tensor; null if it isn't known to be one.
mlir::Value one_number(mlir::Value value) {
  auto broadcast = value.getDefiningOp<nn::BroadcastOp>();
  if (broadcast) value = broadcast.getX();
  return NnBuilder::shape(value).empty() ? value : mlir::Value();
}

/// A product with one number takes it as it is: a broadcast asks for the shape of another tensor, which would be kept for it.
struct MultiplyByNumber : OpRewritePattern<nn::MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::MulOp op, PatternRewriter& rewriter) const override {
    for (const bool first : {true, false}) {
      mlir::Value many = first ? op.getB() : op.getA(), number = one_number(first ? op.getA() : op.getB());
      if (!number || NnBuilder::shape(number) == NnBuilder::shape(op.getY()) || many.getType() != op.getY().getType()) continue;
      if (many == op.getA() && number == op.getB()) return failure();  // as it should be
      rewriter.replaceOpWithNewOp<nn::MulOp>(op, op.getY().getType(), many, number);
      return success();
    }
    return failure();
  }
};

/// What `op`, a sum over the classes and perhaps other dimensions, is of one number for each target, y; null if it isn't over the classes.
mlir::Value sum_over_rest(nn::SumOp op, NnBuilder& nn, mlir::Value factor, llvm::function_ref<mlir::Value()> make_y) {
  const auto rank = static_cast<int64_t>(NnBuilder::shape(op.getX()).size());
  const int64_t of_classes = nn::TargetValuesOp::dimOfClasses(rank);
  SmallVector<int64_t> rest;
  for (int64_t dim : op.getDims()) rest.push_back(*ir::normalize_dim(dim, rank));
  if (!llvm::is_contained(rest, of_classes)) return {};
  llvm::erase(rest, of_classes);
  mlir::Value y = make_y();
  Builder& b = nn.builder;
  SmallVector<int64_t> shape(NnBuilder::shape(y));
  if (op.getKeepdim()) {
    shape.insert(shape.begin() + of_classes, 1);
    y = nn.make<nn::UnsqueezeOp>(NnBuilder::with_shape(y, shape), y, b.getI64IntegerAttr(of_classes));
  } else {
    for (int64_t& dim : rest) dim -= dim > of_classes ? 1 : 0;
  }
  const auto type = cast<RankedTensorType>(op.getY().getType());
  if (!rest.empty()) y = nn.make<nn::SumOp>(type, y, b.getDenseI64ArrayAttr(rest), op.getKeepdimAttr());
  return factor ? nn.make<nn::MulOp>(type, y, factor) : y;
}

/// The type of a number for each target of `t`, of the elements of `x`.
RankedTensorType type_for_targets(mlir::Value t, mlir::Value x) {
  return RankedTensorType::get(NnBuilder::shape(t), cast<RankedTensorType>(x.getType()).getElementType());
}

/// The sum of nn.target_weights over the classes, and over other dimensions perhaps; of their product with one number, too.
struct SumOfTargetWeights : OpRewritePattern<nn::SumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::SumOp op, PatternRewriter& rewriter) const override {
    mlir::Value x = op.getX(), factor;
    if (auto product = x.getDefiningOp<nn::MulOp>()) {
      factor = one_number(product.getB());
      if (!factor) return failure();
      x = product.getA();
    }
    auto weights = x.getDefiningOp<nn::TargetWeightsOp>();
    if (!weights) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value y = sum_over_rest(op, nn, factor, [&] {
      return nn.make<nn::TargetCountsOp>(type_for_targets(weights.getT(), x), weights.getT(), weights.getClassesAttr(),
                                         weights.getIgnoreIndexAttr());
    });
    if (!y) return failure();
    rewriter.replaceOp(op, y);
    return success();
  }
};

/// The same of values weighted so, all but one of which get no weight. With few classes they are read in passing, by a kernel that
/// computes more than that.
struct SumOfWeightedValues : OpRewritePattern<nn::SumOp> {
  using OpRewritePattern::OpRewritePattern;
  static constexpr int64_t kManyClasses = 64;

  LogicalResult matchAndRewrite(nn::SumOp op, PatternRewriter& rewriter) const override {
    auto weighted = op.getX().getDefiningOp<nn::WeightedOp>();
    auto weights = weighted ? weighted.getWeight().getDefiningOp<nn::TargetWeightsOp>() : nullptr;
    if (!weights || !weights.getLabelSmoothing().isZero() || static_cast<int64_t>(weights.getClasses()) < kManyClasses)
      return failure();
    mlir::Value x = weighted.getX();
    if (x.getType() != weights.getQ().getType()) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value y = sum_over_rest(op, nn, {}, [&] {
      return nn.make<nn::TargetValuesOp>(type_for_targets(weights.getT(), x), weights.getT(), x, weights.getIgnoreIndexAttr());
    });
    if (!y) return failure();
    rewriter.replaceOp(op, y);
    return success();
  }
};

}  // namespace

void add_target_patterns(RewritePatternSet& patterns, bool before_gradients) {
  patterns.add<MultiplyByNumber, SumOfTargetWeights>(patterns.getContext());
  if (!before_gradients) patterns.add<SumOfWeightedValues>(patterns.getContext());
}

}  // namespace sheaf::passes
