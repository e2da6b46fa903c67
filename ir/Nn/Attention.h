// The weights of an attention, and how much of them is in memory at once.
#pragma once

#include "ir/Nn/Nn.h"

namespace sheaf::nn {

/// What a query doesn't see. Integers in `attn` hide where they are 0, with `inverted` where they are not; in `padding`, where they
/// are not.
struct Masks {
  Value attn, padding;
  bool inverted = false, causal = false;

  explicit operator bool() const { return attn || padding || causal; }
};

/// softmax(scale · query · key), as the masks allow: query `[…, L, E]`, key `[…, E, S]`, or `[…, S, E]` with `rows`. Queries are those
/// from position `first` on, and so are the masks' rows. A position that sees nothing has weights of 0, as in
/// torch.nn.functional.scaled_dot_product_attention.
Value attention_weights(mlir::OpBuilder& builder, Location loc, Value query, Value key, bool rows, double scale,
                        const Masks& masks, int64_t first = 0);

/// From so many queries on, they are taken some at a time.
inline constexpr int64_t kManyQueries = 1024;

/// So many queries at a time: their scores are all that there is in memory.
int64_t queries_at_a_time(AttentionOp op);

/// The factor of an attention's scores.
double scale_of(AttentionOp op);

/// The rows [first, first + count) of a mask that stretches to `[…, L, S]`; all of one that is the same for each row.
Value rows_of_mask(mlir::OpBuilder& builder, Location loc, Value mask, int64_t first, int64_t count);

/// `size` entries of x from `begin` along `dim`.
Value slice_of(mlir::OpBuilder& builder, Location loc, Value x, int64_t dim, int64_t begin, int64_t size);

}  // namespace sheaf::nn
