// The dual of an attention. It computes the weights again, some queries at a time.
#include "ir/Nn/Attention.h"

using namespace mlir;
using namespace sheaf::nn;

namespace {

/// The sum so far plus `part`.
void add_to(GradientBuilder& gradients, Value& sum, Value part) { sum = sum ? gradients.add(sum, part) : part; }

Value joined(GradientBuilder& gradients, ArrayRef<Value> parts, int64_t dim) {
  if (parts.size() == 1) return parts[0];
  SmallVector<int64_t> shape(gradients.type(parts[0]).getShape());
  shape[dim] = 0;
  for (Value part : parts) shape[dim] += gradients.type(part).getDimSize(dim);
  return gradients.make<ConcatOp>(gradients.type(parts[0], shape), ValueRange(parts), gradients.builder.getI64IntegerAttr(dim));
}

}  // namespace

/// With P the weights of the current rows of queries: dV = Pᵀ · dY, dS = P · (dP - Σ dP · P) where dP = dY · Vᵀ, dQ = s · dS ·
/// K, dK = s · dSᵀ · Q (Dao et al. 2022, appendix B).
void AttentionOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  Value q = gradients.forward(getQuery()), k = gradients.forward(getKey()), v = gradients.forward(getValue());
  Value mask = getMask() ? gradients.forward(getMask()) : Value();
  const int64_t dim = gradients.type(q).getRank() - 2, length = gradients.type(q).getDimSize(dim);
  const int64_t at_a_time = queries_at_a_time(*this);
  const double scale = scale_of(*this);
  OpBuilder& builder = gradients.builder;
  SmallVector<Value> dq, dmask;
  for (int64_t first = 0; first < length; first += at_a_time) {
    const int64_t count = std::min(at_a_time, length - first);
    Value query = slice_of(builder, gradients.loc, q, dim, first, count);
    Value dy = slice_of(builder, gradients.loc, results[0], dim, first, count);
    const Masks masks{.attn = rows_of_mask(builder, gradients.loc, mask, first, count), .padding = {}, .causal = getIsCausal()};
    Value weights = attention_weights(builder, gradients.loc, query, k, /*rows=*/true, scale, masks, first);
    if (gradients.needed(2u)) add_to(gradients, operands[2], gradients.matmul(weights, dy, true, false));
    Value dweights = gradients.matmul(dy, v, false, true);
    Value weighted = gradients.sum(gradients.mul(dweights, weights), {dim + 1}, true);
    Value dscores = gradients.mul(weights, gradients.sub(dweights, weighted));
    if (gradients.needed(0u)) dq.push_back(gradients.scale(gradients.matmul(dscores, k, false, false), scale));
    if (gradients.needed(1u))
      add_to(gradients, operands[1], gradients.scale(gradients.matmul(dscores, query, true, false), scale));
    if (masks.attn && gradients.needed(3u)) dmask.push_back(gradients.sum_to(dscores, masks.attn));
  }
  if (!dq.empty()) operands[0] = joined(gradients, dq, dim);
  if (dmask.empty()) return;
  const int64_t rank = gradients.type(mask).getRank();
  if (rank >= 2 && gradients.type(mask).getDimSize(rank - 2) != 1) {
    operands[3] = joined(gradients, dmask, rank - 2);
  } else {
    for (Value part : dmask) add_to(gradients, operands[3], part);
  }
}
