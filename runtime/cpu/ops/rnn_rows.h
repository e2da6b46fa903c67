// LSTM and GRU in inference by this project's kernels: each thread takes some of the rows through all layers and the whole sequence.
#pragma once

#include "runtime/cpu/ops/operation.h"
#include "runtime/steps/rnn_shape.h"

namespace sheaf {

/// Of a thread, which reads all weights for its rows.
constexpr int64_t kLeastRows = 4;

/// Whether the CPU has kernels for cells of this kind and as many hidden units.
bool rnn_rows_fit(const RnnShape& shape);

Prepared prepare_rnn_rows(const Operation& operation, const RnnShape& shape);

}  // namespace sheaf
