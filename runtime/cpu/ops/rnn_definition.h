// An RNN with ReLU by its definition, for when oneDNN's cell turns NaN into a number (runtime/cpu/ops/keep_nan.h).
#pragma once

#include "runtime/cpu/ops/operation.h"
#include "runtime/steps/rnn_shape.h"

#include <vector>

namespace sheaf {

/// A step's operands and results, as indices of its buffers; -1: missing.
struct RnnBuffers {
  int x = -1, h0 = -1, y = -1, h = -1;
  std::vector<int> weights;  ///< for each layer and direction weight_ih, weight_hh, bias_ih, bias_hh
};
RnnBuffers rnn_buffers(const Operation& operation, const RnnShape& shape);

/// Computes y and h once more, one product after another, and puts NaN into the step's results where they are NaN. `inputs`:
/// the specs of the step's operands, which give the weights' formats. Errors: no memory, as std::bad_alloc; those of reorders.
Result<void> set_rnn_nan(const RnnShape& shape, const RnnBuffers& at, const std::vector<TensorSpec>& inputs,
                         void* const* buffers);

}  // namespace sheaf
