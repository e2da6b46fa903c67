// MultiheadAttention taken apart.
#include "ir/Nn/Dropout.h"
#include "passes/nn/NnBuilder.h"

#include <cmath>

namespace sheaf::passes {

using namespace mlir;

/// Attention by its definition (torch.nn.functional.multi_head_attention_forward): project, split into heads,
/// softmax(q kᵀ / √d) v, join the heads, project.
void lower_attention(nn::MultiheadAttentionOp op, RewriterBase& rewriter) {
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
  query = nn.make<nn::ScaleOp>(cast<RankedTensorType>(query.getType()), query,
                               rewriter.getF64FloatAttr(1.0 / std::sqrt(static_cast<double>(width))));
  mlir::Value scores = nn.matmul(query, key);
  mlir::Value attention = nn.make<nn::SoftmaxOp>(cast<RankedTensorType>(scores.getType()), scores,
                                                 rewriter.getI64IntegerAttr(-1), rewriter.getBoolAttr(false));
  if (auto p = op->getAttrOfType<FloatAttr>(nn::kDropout))
    attention = nn.make<nn::DropoutOp>(cast<RankedTensorType>(attention.getType()), attention, p);
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
}

}  // namespace sheaf::passes
