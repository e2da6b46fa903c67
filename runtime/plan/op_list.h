// The list of operations. Only code that names one includes this; files that pass them on or ask for their traits
// (runtime/ops/traits.h) need not be compiled again when one is added.
#pragma once

#include "runtime/plan/op.h"

#include <cstddef>

namespace sheaf {

// Each is a list of row(name), with the operation's name in plans, the nn dialect and reports.

// clang-format off: a family a line

/// `layer`: a node of a logical program; Step::type names the layer. `kernel`: a generated kernel. `view`: the same
/// elements under another shape. Then data movement between places.
#define SHEAF_PROGRAM_OPS(row) \
  row(layer) row(kernel) row(view) row(print) \
  row(scatter) row(replicate) row(gather) row(transfer) row(reduce) row(first) \
  row(all_reduce) row(reduce_scatter) row(all_gather) row(shard)

/// Calls into a backend's library.
#define SHEAF_LIBRARY_OPS(row) \
  row(linear) row(linear_backward_data) row(linear_backward_weight) row(matmul) row(nonfinite) \
  row(conv) row(conv_transpose) row(conv_backward_data) row(conv_backward_weight) \
  row(batch_norm_train) row(batch_norm_backward) \
  row(max_pool) row(max_pool_train) row(max_pool_backward) \
  row(avg_pool) row(avg_pool_backward) row(adaptive_avg_pool) row(adaptive_avg_pool_backward) \
  row(lstm) row(lstm_train) row(lstm_backward) row(gru) row(gru_train) row(gru_backward) \
  row(rnn) row(rnn_train) row(rnn_backward)

// clang-format on

/// Operations that binding adds; no plan has them.
#define SHEAF_BINDING_OPS(row) \
  row(check_finite) row(reorder) row(copy) row(update) row(broadcast) row(sum) row(share) row(send) row(receive) row(agree)

#define SHEAF_OPS(row) SHEAF_PROGRAM_OPS(row) SHEAF_LIBRARY_OPS(row) SHEAF_BINDING_OPS(row)

enum class Op : uint8_t {
#define SHEAF_OP(name) name,
  SHEAF_OPS(SHEAF_OP)
#undef SHEAF_OP
};

#define SHEAF_OP(name) +1
inline constexpr size_t kOps = 0 SHEAF_OPS(SHEAF_OP);
#undef SHEAF_OP

}  // namespace sheaf
