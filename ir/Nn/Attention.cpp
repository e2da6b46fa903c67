#include "ir/Nn/Attention.h"

#include <cmath>

using namespace mlir;

namespace sheaf::nn {
namespace {

/// Large enough for a matrix product to run as fast as one over all queries.
constexpr int64_t kQueries = 256;
constexpr int64_t kMostParts = 64;

RankedTensorType type_of_value(Value value) { return cast<RankedTensorType>(value.getType()); }

Value masked(OpBuilder& builder, Location loc, Value scores, const Masks& masks, int64_t first) {
  if (masks.attn || masks.causal)
    scores = builder.create<MaskScoresOp>(loc, scores.getType(), scores, masks.attn,
                                          masks.inverted ? builder.getUnitAttr() : UnitAttr(),
                                          masks.causal ? builder.getI64IntegerAttr(first) : IntegerAttr());
  if (masks.padding)
    scores = builder.create<MaskScoresOp>(loc, scores.getType(), scores, masks.padding, builder.getUnitAttr(), IntegerAttr());
  return scores;
}

}  // namespace

Value attention_weights(OpBuilder& builder, Location loc, Value query, Value key, bool rows, double scale, const Masks& masks,
                        int64_t first) {
  query = builder.create<ScaleOp>(loc, query.getType(), query, builder.getF64FloatAttr(scale));
  SmallVector<int64_t> shape(type_of_value(query).getShape());
  ArrayRef<int64_t> keys = type_of_value(key).getShape();
  shape.back() = rows ? keys[keys.size() - 2] : keys.back();
  auto type =
      RankedTensorType::get(shape, promoted(type_of_value(query).getElementType(), type_of_value(key).getElementType()));
  Value scores = builder.create<MatMulOp>(loc, type, query, key, /*transpose_a=*/false, /*transpose_b=*/rows);
  scores = masked(builder, loc, scores, masks, first);
  auto weights = builder.create<SoftmaxOp>(loc, type, scores, builder.getI64IntegerAttr(-1), builder.getBoolAttr(false));
  if (masks) weights->setAttr(kMasked, builder.getUnitAttr());
  return weights;
}

int64_t queries_at_a_time(AttentionOp op) {
  ArrayRef<int64_t> query = type_of_value(op.getQuery()).getShape();
  const int64_t length = query[query.size() - 2];
  // Each part adds a few operations to the plan.
  return length < kManyQueries ? length : std::max(kQueries, (length + kMostParts - 1) / kMostParts);
}

double scale_of(AttentionOp op) {
  if (op.getScale()) return op.getScale()->convertToDouble();
  return 1.0 / std::sqrt(static_cast<double>(type_of_value(op.getQuery()).getShape().back()));
}

Value rows_of_mask(OpBuilder& builder, Location loc, Value mask, int64_t first, int64_t count) {
  if (!mask || type_of_value(mask).getRank() < 2) return mask;
  const int64_t dim = type_of_value(mask).getRank() - 2, rows = type_of_value(mask).getDimSize(dim);
  return rows == 1 || rows == count ? mask : slice_of(builder, loc, mask, dim, first, count);
}

Value slice_of(OpBuilder& builder, Location loc, Value x, int64_t dim, int64_t begin, int64_t size) {
  SmallVector<int64_t> shape(type_of_value(x).getShape());
  if (shape[dim] == size) return x;
  shape[dim] = size;
  return builder.create<SliceOp>(loc, RankedTensorType::get(shape, type_of_value(x).getElementType()), x,
                                 builder.getI64IntegerAttr(dim), builder.getI64IntegerAttr(begin),
                                 builder.getI64IntegerAttr(size), IntegerAttr());
}

}  // namespace sheaf::nn
