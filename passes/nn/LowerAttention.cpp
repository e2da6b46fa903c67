// Lowers attentions to their parts.
#include "ir/Nn/Attention.h"
#include "ir/Nn/Dropout.h"
#include "passes/nn/NnBuilder.h"

#include <cmath>

namespace sheaf::passes {

using namespace mlir;

namespace {

/// The weights, some of them dropped with probability `dropout`.
mlir::Value dropped(const NnBuilder& nn, mlir::Value weights, FloatAttr dropout) {
  if (!dropout) return weights;
  return nn.make<nn::DropoutOp>(cast<RankedTensorType>(weights.getType()), weights, dropout, mlir::StringAttr(), IntegerAttr());
}

/// Whether the sequences are long and only the context is used: then the weights needn't all be in memory at once.
bool context_alone(nn::MultiheadAttentionOp op, int64_t length) {
  return length >= nn::kManyQueries && op.getWeights().use_empty() && !op.getAttnMask() && !op.getKeyPaddingMask() &&
         !op->hasAttr(nn::kDropout);
}

/// [N, head, L, S] from a query [N, head, L, width] and a key [N, head, width, S].
mlir::Value weights_of(nn::MultiheadAttentionOp op, const NnBuilder& nn, mlir::Value query, mlir::Value key) {
  ArrayRef<int64_t> shape = NnBuilder::shape(query);
  const int64_t keys = NnBuilder::shape(key)[3];
  nn::Masks masks{.attn = op.getAttnMask(), .padding = op.getKeyPaddingMask(), .inverted = true, .causal = op.getIsCausal()};
  if (masks.attn && NnBuilder::shape(masks.attn).size() == 3)
    masks.attn = nn.reshape(masks.attn, {shape[0], shape[1], shape[2], keys});
  if (masks.padding) masks.padding = nn.reshape(masks.padding, {shape[0], 1, 1, keys});
  mlir::Value weights = nn::attention_weights(nn.builder, nn.loc, query, key, /*rows=*/false,
                                              1.0 / std::sqrt(static_cast<double>(shape[3])), masks);
  return dropped(nn, weights, op->getAttrOfType<FloatAttr>(nn::kDropout));
}

/// torch.nn.functional.multi_head_attention_forward: project, split into heads, softmax(q kᵀ / √d) v, join the heads, project.
void lower(nn::MultiheadAttentionOp op, RewriterBase& rewriter) {
  NnBuilder nn{rewriter, op.getLoc()};
  int64_t embed = NnBuilder::shape(op.getOutProjWeight())[0], heads = op.getNumHeads(), width = embed / heads;
  bool unbatched = NnBuilder::shape(op.getQuery()).size() == 2, batch_first = op.getBatchFirst() || unbatched;
  auto with_batch = [&](mlir::Value x) {
    return unbatched ? nn.reshape(x, {1, NnBuilder::shape(x)[0], NnBuilder::shape(x)[1]}) : x;
  };
  // [N, L, E] (or [L, N, E]) with heads separated, then its dimensions (N, L, head, width) in `order`.
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
  const bool alone = context_alone(op, NnBuilder::shape(query)[2]);
  mlir::Value key = project(op.getKey(), 1, alone ? ArrayRef<int64_t>{0, 2, 1, 3} : ArrayRef<int64_t>{0, 2, 3, 1});
  mlir::Value value = project(op.getValue(), 2, {0, 2, 1, 3});
  mlir::Value attention, context;  // [N, head, L, S], [N, head, L, width]
  if (alone) {
    context =
        nn.make<nn::AttentionOp>(cast<RankedTensorType>(query.getType()), query, key, value, /*mask=*/mlir::Value(),
                                 /*scale=*/FloatAttr(), rewriter.getBoolAttr(op.getIsCausal()), rewriter.getBoolAttr(false));
  } else {
    attention = weights_of(op, nn, query, key);
    context = nn.matmul(attention, value);
  }
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

/// torch.nn.functional.scaled_dot_product_attention, some queries at a time.
void lower(nn::AttentionOp op, RewriterBase& rewriter) {
  if (op.getEnableGqa()) resolve_groups(op, rewriter);
  NnBuilder nn{rewriter, op.getLoc()};
  const auto dim = static_cast<int64_t>(NnBuilder::shape(op.getQuery()).size()) - 2;
  const int64_t length = NnBuilder::shape(op.getQuery())[dim];
  auto dropout = op->getAttrOfType<FloatAttr>(nn::kDropout);
  // A dropout's mask belongs to positions in the whole weights; how many parts a length has isn't known here.
  const bool whole = dropout || ShapedType::isDynamic(length);
  const int64_t at_a_time = whole ? length : nn::queries_at_a_time(op);
  SmallVector<mlir::Value> parts;
  for (int64_t first = 0; whole ? parts.empty() : first < length; first += at_a_time) {
    const int64_t count = whole ? length : std::min(at_a_time, length - first);
    const nn::Masks masks{
        .attn = nn::rows_of_mask(rewriter, op.getLoc(), op.getMask(), first, count), .padding = {}, .causal = op.getIsCausal()};
    mlir::Value query = nn::slice_of(rewriter, op.getLoc(), op.getQuery(), dim, first, count);
    mlir::Value weights =
        nn::attention_weights(rewriter, op.getLoc(), query, op.getKey(), /*rows=*/true, nn::scale_of(op), masks, first);
    parts.push_back(nn.matmul(dropped(nn, weights, dropout), op.getValue()));
  }
  rewriter.replaceOp(op, parts.size() == 1 ? parts[0] : nn.concat(parts, dim));
}

}  // namespace

void resolve_groups(nn::AttentionOp op, RewriterBase& rewriter) {
  NnBuilder nn{rewriter, op.getLoc()};
  const auto heads = static_cast<int64_t>(NnBuilder::shape(op.getQuery()).size()) - 3;
  const int64_t groups = NnBuilder::shape(op.getQuery())[heads] / NnBuilder::shape(op.getKey())[heads];
  auto repeated = [&](mlir::Value x) {
    SmallVector<mlir::Value> parts;
    for (int64_t head = 0; head < NnBuilder::shape(x)[heads]; ++head)
      parts.append(static_cast<size_t>(groups), nn.slice(x, heads, head, 1));
    return nn.concat(parts, heads);
  };
  rewriter.modifyOpInPlace(op, [&] {
    if (groups > 1) {
      mlir::Value key = repeated(op.getKey());
      op.getValueMutable().assign(op.getValue() == op.getKey() ? key : repeated(op.getValue()));
      op.getKeyMutable().assign(key);
    }
    op.setEnableGqa(false);
  });
}

bool is_attention(Operation* op) { return isa<nn::MultiheadAttentionOp, nn::AttentionOp>(op); }

void lower_attention(Operation* op, RewriterBase& rewriter) {
  if (auto attention = dyn_cast<nn::AttentionOp>(op)) lower(attention, rewriter);
  else lower(cast<nn::MultiheadAttentionOp>(op), rewriter);
}

}  // namespace sheaf::passes
