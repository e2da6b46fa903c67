// What an operation is called. Everything else about it stands in its row of runtime/ops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sheaf {

/// Every operation of a program, by the name that plans, the nn dialect and reports have for it.
///
/// `layer`: a node of a logical program, whose Step::type says which. `kernel`: a generated kernel. `view`: the same
/// elements under another shape. Then data movement between places, the libraries' operations by family, and what
/// binding adds: no plan has those.
#define SHEAF_OPS(row)                                                                                                     \
  row(layer) row(kernel) row(view) row(print) row(scatter) row(replicate) row(gather) row(transfer) row(reduce) row(first) \
      row(linear) row(linear_backward_data) row(linear_backward_weight) row(matmul) row(conv) row(conv_transpose)          \
          row(conv_backward_data) row(conv_backward_weight) row(batch_norm_train) row(batch_norm_backward) row(max_pool)   \
              row(max_pool_train) row(max_pool_backward) row(avg_pool) row(avg_pool_backward) row(adaptive_avg_pool)       \
                  row(adaptive_avg_pool_backward) row(lstm) row(lstm_train) row(lstm_backward) row(gru) row(gru_train)     \
                      row(gru_backward) row(check_finite) row(reorder) row(copy) row(update) row(broadcast) row(sum)       \
                          row(share)

enum class Op : uint8_t {
#define SHEAF_OP(name) name,
  SHEAF_OPS(SHEAF_OP)
#undef SHEAF_OP
};

#define SHEAF_OP(name) +1
inline constexpr size_t kOps = 0 SHEAF_OPS(SHEAF_OP);
#undef SHEAF_OP

std::string to_string(Op op);
/// The operation of this name; none if there is no such.
std::optional<Op> op_from_name(std::string_view name);

}  // namespace sheaf
