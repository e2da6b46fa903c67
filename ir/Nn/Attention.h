// The weights of an attention, and how much of them is in memory at once.
#pragma once

#include "ir/Nn/Nn.h"

namespace sheaf::nn {

/// The positions that a query doesn't see. Integers in `attn` hide positions where they are 0 or, with `inverted`, where they
/// aren't; integers in `padding` hide positions where they aren't 0.
struct Masks {
  Value attn, padding;
  bool inverted = false, causal = false;

  explicit operator bool() const { return attn || padding || causal; }
};

/// softmax(scale · query · key), as the masks allow: query `[…, L, E]`, key `[…, E, S]`, or `[…, S, E]` with `rows`. Queries,
/// and the masks' rows, are those from position `first` on. A position that sees nothing has weights of 0, as in
/// torch.nn.functional.scaled_dot_product_attention.
Value attention_weights(mlir::OpBuilder& builder, Location loc, Value query, Value key, bool rows, double scale,
                        const Masks& masks, int64_t first = 0);

/// From this many queries on, they are processed in parts.
inline constexpr int64_t kManyQueries = 1024;

/// The number of queries per part: only their scores are in memory.
int64_t queries_at_a_time(AttentionOp op);

/// The factor of an attention's scores.
double scale_of(AttentionOp op);

/// The rows [first, first + count) of a mask that broadcasts to `[…, L, S]`; the whole mask if it is the same for each row.
Value rows_of_mask(mlir::OpBuilder& builder, Location loc, Value mask, int64_t first, int64_t count);

/// `size` entries of x from `begin` along `dim`.
Value slice_of(mlir::OpBuilder& builder, Location loc, Value x, int64_t dim, int64_t begin, int64_t size);

}  // namespace sheaf::nn
