// Attentions taken apart.
#include "ir/Nn/Dropout.h"
#include "passes/nn/NnBuilder.h"

#include <cmath>

namespace sheaf::passes {

using namespace mlir;

namespace {

/// What a query doesn't see. Integers in `attn` hide where they are 0, with `inverted` where they are not; in `padding`, where they
/// are not.
struct Masks {
  mlir::Value attn, padding;
  bool inverted = false, causal = false;

  explicit operator bool() const { return attn || padding || causal; }
};

mlir::Value masked(const NnBuilder& nn, mlir::Value scores, const Masks& masks) {
  auto type = cast<RankedTensorType>(scores.getType());
  if (masks.attn || masks.causal) scores = nn.make<nn::MaskScoresOp>(type, scores, masks.attn, masks.inverted, masks.causal);
  if (masks.padding) scores = nn.make<nn::MaskScoresOp>(type, scores, masks.padding, /*inverted=*/true, /*causal=*/false);
  return scores;
}

/// softmax(scale · query · key), as the masks allow: query `[…, L, E]`, key `[…, E, S]`, or `[…, S, E]` with `rows`. A position that
/// sees nothing has weights of 0, as in torch.nn.functional.scaled_dot_product_attention.
mlir::Value attention_weights(const NnBuilder& nn, mlir::Value query, mlir::Value key, bool rows, double scale,
                              const Masks& masks, FloatAttr dropout) {
  query = nn.make<nn::ScaleOp>(cast<RankedTensorType>(query.getType()), query, nn.builder.getF64FloatAttr(scale));
  mlir::Value scores = masked(nn, nn.matmul(query, key, rows), masks);
  mlir::Value weights = nn.make<nn::SoftmaxOp>(cast<RankedTensorType>(scores.getType()), scores,
                                               nn.builder.getI64IntegerAttr(-1), nn.builder.getBoolAttr(false));
  if (masks) weights.getDefiningOp()->setAttr(nn::kMasked, nn.builder.getUnitAttr());
  if (dropout) weights = nn.make<nn::DropoutOp>(cast<RankedTensorType>(weights.getType()), weights, dropout);
  return weights;
}

/// torch.nn.functional.multi_head_attention_forward: project, split into heads, softmax(q kᵀ / √d) v, join the heads, project.
void lower(nn::MultiheadAttentionOp op, RewriterBase& rewriter) {
  NnBuilder nn{rewriter, op.getLoc()};
  int64_t embed = NnBuilder::shape(op.getOutProjWeight())[0], heads = op.getNumHeads(), width = embed / heads;
  bool unbatched = NnBuilder::shape(op.getQuery()).size() == 2, batch_first = op.getBatchFirst() || unbatched;
  auto with_batch = [&](mlir::Value x) {
    return unbatched ? nn.reshape(x, {1, NnBuilder::shape(x)[0], NnBuilder::shape(x)[1]}) : x;
  };
  // [N, L, E] (or [L, N, E]) → heads apart, then `order` of the dimensions (N, L, head, width).
  auto project = [&](mlir::Value x, int64_t part, ArrayRef<int64_t> order) {
    x = with_batch(x);
    mlir::Value weight = nn.slice(op.getInProjWeight(), 0, part * embed, embed);
    mlir::Value bias = op.getInProjBias() ? nn.slice(op.getInProjBias(), 0, part * embed, embed) : mlir::Value();
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
  Masks masks{.attn = op.getAttnMask(), .padding = op.getKeyPaddingMask(), .inverted = true, .causal = op.getIsCausal()};
  const int64_t rows = NnBuilder::shape(query)[0], length = NnBuilder::shape(query)[2], keys = NnBuilder::shape(key)[3];
  if (masks.attn && NnBuilder::shape(masks.attn).size() == 3) masks.attn = nn.reshape(masks.attn, {rows, heads, length, keys});
  if (masks.padding) masks.padding = nn.reshape(masks.padding, {rows, 1, 1, keys});
  mlir::Value attention = attention_weights(nn, query, key, /*rows=*/false, 1.0 / std::sqrt(static_cast<double>(width)), masks,
                                            op->getAttrOfType<FloatAttr>(nn::kDropout));
  mlir::Value context = nn.matmul(attention, value);  // [N, head, L, width]
  mlir::Value joined = nn.permute(context, batch_first ? ArrayRef<int64_t>{0, 2, 1, 3} : ArrayRef<int64_t>{2, 0, 1, 3});
  ArrayRef<int64_t> shape = NnBuilder::shape(joined);
  mlir::Value output = nn.linear(nn.reshape(joined, {shape[0], shape[1], embed}), op.getOutProjWeight(), op.getOutProjBias());
  mlir::Value weights = attention;
  if (!op.getWeights().use_empty() && op.getAverage()) {
    ArrayRef<int64_t> all = NnBuilder::shape(attention);
    weights = nn.make<nn::MeanOp>(NnBuilder::with_shape(attention, {all[0], all[2], all[3]}), attention,
                                  rewriter.getDenseI64ArrayAttr({1}), rewriter.getBoolAttr(false));
  }
  auto as = [&](mlir::Value made, mlir::Value wanted) {
    return unbatched ? nn.reshape(made, SmallVector<int64_t>(NnBuilder::shape(wanted))) : made;
  };
  rewriter.replaceAllUsesWith(op.getY(), as(output, op.getY()));
  if (!op.getWeights().use_empty()) rewriter.replaceAllUsesWith(op.getWeights(), as(weights, op.getWeights()));
  rewriter.eraseOp(op);
}

/// torch.nn.functional.scaled_dot_product_attention.
void lower(nn::AttentionOp op, RewriterBase& rewriter) {
  NnBuilder nn{rewriter, op.getLoc()};
  mlir::Value key = op.getKey(), value = op.getValue();
  const SmallVector<int64_t> shape(NnBuilder::shape(op.getQuery()));
  const auto heads = static_cast<int64_t>(shape.size()) - 3;
  const double scale = op.getScale() ? op.getScale()->convertToDouble() : 1.0 / std::sqrt(static_cast<double>(shape.back()));
  const int64_t groups = op.getEnableGqa() ? shape[heads] / NnBuilder::shape(key)[heads] : 1;
  // Heads that have keys and values in common lie side by side: each of those is there as often as it is wanted.
  auto repeated = [&](mlir::Value x) {
    SmallVector<mlir::Value> parts;
    for (int64_t head = 0; head < NnBuilder::shape(x)[heads]; ++head)
      parts.append(static_cast<size_t>(groups), nn.slice(x, heads, head, 1));
    return nn.concat(parts, heads);
  };
  if (groups > 1) {
    key = repeated(key);
    value = repeated(value);
  }
  const Masks masks{.attn = op.getMask(), .padding = {}, .inverted = false, .causal = op.getIsCausal()};
  mlir::Value weights =
      attention_weights(nn, op.getQuery(), key, /*rows=*/true, scale, masks, op->getAttrOfType<FloatAttr>(nn::kDropout));
  rewriter.replaceOp(op, nn.matmul(weights, value));
}

}  // namespace

bool is_attention(Operation* op) { return isa<nn::MultiheadAttentionOp, nn::AttentionOp>(op); }

void lower_attention(Operation* op, RewriterBase& rewriter) {
  if (auto attention = dyn_cast<nn::AttentionOp>(op)) lower(attention, rewriter);
  else lower(cast<nn::MultiheadAttentionOp>(op), rewriter);
}

}  // namespace sheaf::passes
