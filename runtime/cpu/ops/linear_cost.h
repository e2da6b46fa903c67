// The cost model of linear layers and their gradients: seconds by oneDNN's inner product, roughly (docs/cpu-choices.md).
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// Of the layer or of either of its gradients.
inline double inner_product_seconds(const Operation& operation, int64_t rows, int64_t in, int64_t out) {
  constexpr double kRate = 120e9;  ///< a thread's
  return 2 * double(rows) * double(out) * double(in) / kRate / operation.request.threads;
}

}  // namespace sheaf
