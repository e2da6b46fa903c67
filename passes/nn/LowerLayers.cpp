// nn-lower-layers: layers that neither a library call nor one kernel computes are taken apart.
#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

namespace sheaf::passes {
#define GEN_PASS_DEF_NNLOWERLAYERS
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// Builds nn ops at one location; result types come from the ops' shape functions.
struct NnBuilder {
  OpBuilder& builder;
  mlir::Location loc;

  template <typename Op, typename... Args>
  mlir::Value make(RankedTensorType type, Args&&... args) const {
    return builder.create<Op>(loc, type, std::forward<Args>(args)...);
  }
  static RankedTensorType with_shape(mlir::Value value, ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, cast<RankedTensorType>(value.getType()).getElementType());
  }
  static ArrayRef<int64_t> shape(mlir::Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

  mlir::Value reshape(mlir::Value x, SmallVector<int64_t> to) const {
    SmallVector<int64_t> sizes = to;
    for (int64_t& size : sizes)
      if (ShapedType::isDynamic(size)) size = -1;
    return make<nn::ReshapeOp>(with_shape(x, to), x, builder.getDenseI64ArrayAttr(sizes));
  }
  mlir::Value permute(mlir::Value x, ArrayRef<int64_t> dims) const {
    SmallVector<int64_t> to;
    for (int64_t dim : dims) to.push_back(shape(x)[dim]);
    return make<nn::PermuteOp>(with_shape(x, to), x, builder.getDenseI64ArrayAttr(dims));
  }
  mlir::Value slice_rows(mlir::Value x, int64_t begin, int64_t size) const {
    SmallVector<int64_t> to(shape(x));
    to[0] = size;
    return make<nn::SliceOp>(with_shape(x, to), x, builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(begin),
                             builder.getI64IntegerAttr(size));
  }
  mlir::Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias) const {
    SmallVector<int64_t> to(shape(x));
    to.back() = shape(weight)[0];
    return make<nn::LinearOp>(with_shape(x, to), x, weight, bias, /*residual=*/mlir::Value(), DictionaryAttr());
  }
  mlir::Value matmul(mlir::Value a, mlir::Value b) const {
    SmallVector<int64_t> to(shape(a));
    to.back() = shape(b).back();
    return make<nn::MatMulOp>(with_shape(a, to), a, b);
  }
};

/// Dropout in inference and Identity give their input.
template <typename Op>
struct Forward : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};

/// Layers that libraries want with a batch dimension get one of size 1 around them.
template <typename Op>
struct AddBatch : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    auto x = cast<RankedTensorType>(op.getX().getType()), y = cast<RankedTensorType>(op.getY().getType());
    if (x.getRank() != unbatched_rank(op)) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    auto with_batch = [](RankedTensorType type) {
      SmallVector<int64_t> shape = {1};
      llvm::append_range(shape, type.getShape());
      return shape;
    };
    IRMapping map;
    map.map(op.getX(), nn.reshape(op.getX(), with_batch(x)));
    Operation* batched = rewriter.clone(*op, map);
    batched->getResult(0).setType(RankedTensorType::get(with_batch(y), y.getElementType()));
    rewriter.replaceOp(op, nn.reshape(batched->getResult(0), SmallVector<int64_t>(y.getShape())));
    return success();
  }

  static int64_t unbatched_rank(Op op) {
    if constexpr (std::is_same_v<Op, nn::ConvOp> || std::is_same_v<Op, nn::ConvTransposeOp>)
      return static_cast<int64_t>(op.getStride().size()) + 1;
    else
      return 3;
  }
};

/// A sequence without a batch dimension, [T, I], becomes [T, 1, I], and its states [layers, H] become [layers, 1, H].
template <typename Op>
struct AddSequenceBatch : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    if (NnBuilder::shape(op.getX()).size() != 2) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    auto with_batch = [](ArrayRef<int64_t> shape) { return SmallVector<int64_t>{shape[0], 1, shape[1]}; };
    IRMapping map;
    auto add_batch = [&](mlir::Value value) {
      if (value) map.map(value, nn.reshape(value, with_batch(NnBuilder::shape(value))));
    };
    add_batch(op.getX());
    add_batch(op.getH0());
    if constexpr (std::is_same_v<Op, nn::LstmOp>) add_batch(op.getC0());
    auto batched = cast<Op>(rewriter.clone(*op, map));
    batched.setBatchFirst(false);
    SmallVector<mlir::Value> results;
    for (auto [old_result, result] : llvm::zip(op->getResults(), batched->getResults())) {
      result.setType(NnBuilder::with_shape(result, with_batch(NnBuilder::shape(old_result))));
      results.push_back(nn.reshape(result, SmallVector<int64_t>(NnBuilder::shape(old_result))));
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// A mean over dimensions that don't lie side by side is taken one dimension after another, the last one first.
struct SplitMean : OpRewritePattern<nn::MeanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::MeanOp op, PatternRewriter& rewriter) const override {
    auto type = cast<RankedTensorType>(op.getX().getType());
    SmallVector<int64_t> dims;
    for (int64_t dim : op.getDims()) dims.push_back(*ir::normalize_dim(dim, type.getRank()));
    llvm::sort(dims, std::greater<int64_t>());
    if (dims.size() < 2 || dims.front() - dims.back() == static_cast<int64_t>(dims.size()) - 1) return failure();
    NnBuilder nn{rewriter, op.getLoc()};
    mlir::Value x = op.getX();
    for (int64_t dim : dims) {
      SmallVector<int64_t> to(NnBuilder::shape(x));
      if (op.getKeepdim()) to[dim] = 1;
      else to.erase(to.begin() + dim);
      x = nn.make<nn::MeanOp>(NnBuilder::with_shape(x, to), x, rewriter.getDenseI64ArrayAttr({dim}), op.getKeepdimAttr());
    }
    rewriter.replaceOp(op, x);
    return success();
  }
};

/// Attention by its definition (torch.nn.functional.multi_head_attention_forward): project, split into heads,
/// softmax(q kᵀ / √d) v, join the heads, project.
struct LowerAttention : OpRewritePattern<nn::MultiheadAttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::MultiheadAttentionOp op, PatternRewriter& rewriter) const override {
    NnBuilder nn{rewriter, op.getLoc()};
    int64_t embed = NnBuilder::shape(op.getOutProjWeight())[0], heads = op.getNumHeads(), width = embed / heads;
    bool unbatched = NnBuilder::shape(op.getQuery()).size() == 2, batch_first = op.getBatchFirst() || unbatched;
    auto with_batch = [&](mlir::Value x) {
      return unbatched ? nn.reshape(x, {1, NnBuilder::shape(x)[0], NnBuilder::shape(x)[1]}) : x;
    };
    // [N, L, E] (or [L, N, E]) → heads apart, then `order` of the dimensions (N, L, head, width).
    auto project = [&](mlir::Value x, int64_t part, ArrayRef<int64_t> order) {
      x = with_batch(x);
      mlir::Value weight = nn.slice_rows(op.getInProjWeight(), part * embed, embed);
      mlir::Value bias = op.getInProjBias() ? nn.slice_rows(op.getInProjBias(), part * embed, embed) : mlir::Value();
      mlir::Value projected = nn.linear(x, weight, bias);
      ArrayRef<int64_t> shape = NnBuilder::shape(projected);
      mlir::Value split = nn.reshape(projected, {shape[0], shape[1], heads, width});
      SmallVector<int64_t> dims;
      for (int64_t dim : order) dims.push_back(dim < 2 && !batch_first ? 1 - dim : dim);
      return nn.permute(split, dims);
    };
    mlir::Value query = project(op.getQuery(), 0, {0, 2, 1, 3});
    mlir::Value key = project(op.getKey(), 1, {0, 2, 3, 1});
    mlir::Value value = project(op.getValue(), 2, {0, 2, 1, 3});
    query = nn.make<nn::ScaleOp>(cast<RankedTensorType>(query.getType()), query,
                                 rewriter.getF64FloatAttr(1.0 / std::sqrt(static_cast<double>(width))));
    mlir::Value scores = nn.matmul(query, key);
    mlir::Value attention = nn.make<nn::SoftmaxOp>(cast<RankedTensorType>(scores.getType()), scores,
                                                   rewriter.getI64IntegerAttr(-1), rewriter.getBoolAttr(false));
    mlir::Value context = nn.matmul(attention, value);  // [N, head, L, width]
    mlir::Value joined = nn.permute(context, batch_first ? ArrayRef<int64_t>{0, 2, 1, 3} : ArrayRef<int64_t>{2, 0, 1, 3});
    ArrayRef<int64_t> shape = NnBuilder::shape(joined);
    mlir::Value output = nn.linear(nn.reshape(joined, {shape[0], shape[1], embed}), op.getOutProjWeight(), op.getOutProjBias());
    mlir::Value weights;
    if (!op.getWeights().use_empty()) {
      ArrayRef<int64_t> all = NnBuilder::shape(attention);
      weights = nn.make<nn::MeanOp>(NnBuilder::with_shape(attention, {all[0], all[2], all[3]}), attention,
                                    rewriter.getDenseI64ArrayAttr({1}), rewriter.getBoolAttr(false));
    }
    auto as = [&](mlir::Value made, mlir::Value wanted) {
      return unbatched ? nn.reshape(made, SmallVector<int64_t>(NnBuilder::shape(wanted))) : made;
    };
    rewriter.replaceAllUsesWith(op.getY(), as(output, op.getY()));
    if (weights) rewriter.replaceAllUsesWith(op.getWeights(), as(weights, op.getWeights()));
    rewriter.eraseOp(op);
    return success();
  }
};

struct NnLowerLayers : impl::NnLowerLayersBase<NnLowerLayers> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerAttention, SplitMean, AddSequenceBatch<nn::LstmOp>, AddSequenceBatch<nn::GruOp>, Forward<nn::DropoutOp>, Forward<nn::IdentityOp>, AddBatch<nn::ConvOp>,
                 AddBatch<nn::ConvTransposeOp>, AddBatch<nn::MaxPoolOp>, AddBatch<nn::AvgPoolOp>,
                 AddBatch<nn::AdaptiveAvgPoolOp>>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
