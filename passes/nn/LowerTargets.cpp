// Lowers sums of classification's weights over the classes to one number for each target, so that no tensor of all classes is made for them.
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
    mlir::Value t = weights.getT();
    const auto rank = static_cast<int64_t>(NnBuilder::shape(x).size());
    const int64_t of_classes = rank > 1 ? 1 : 0;
    SmallVector<int64_t> rest;
    for (int64_t dim : op.getDims()) rest.push_back(*ir::normalize_dim(dim, rank));
    if (!llvm::is_contained(rest, of_classes)) return failure();
    llvm::erase(rest, of_classes);
    NnBuilder nn{rewriter, op.getLoc()};
    const auto element = cast<RankedTensorType>(x.getType()).getElementType();
    mlir::Value y = nn.make<nn::TargetCountsOp>(RankedTensorType::get(NnBuilder::shape(t), element), t,
                                                weights.getClassesAttr(), weights.getIgnoreIndexAttr());
    SmallVector<int64_t> shape(NnBuilder::shape(y));
    if (op.getKeepdim()) {
      shape.insert(shape.begin() + of_classes, 1);
      y = nn.make<nn::UnsqueezeOp>(NnBuilder::with_shape(y, shape), y, rewriter.getI64IntegerAttr(of_classes));
    } else {
      for (int64_t& dim : rest) dim -= dim > of_classes ? 1 : 0;
    }
    const auto type = cast<RankedTensorType>(op.getY().getType());
    if (!rest.empty()) y = nn.make<nn::SumOp>(type, y, rewriter.getDenseI64ArrayAttr(rest), op.getKeepdimAttr());
    if (factor) y = nn.make<nn::MulOp>(type, y, factor);
    rewriter.replaceOp(op, y);
    return success();
  }
};

}  // namespace

void add_target_patterns(RewritePatternSet& patterns) {
  patterns.add<MultiplyByNumber, SumOfTargetWeights>(patterns.getContext());
}

}  // namespace sheaf::passes
