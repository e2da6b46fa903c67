// Losses and metrics of finished outputs, on the host in double precision: what evaluation reports. The definitions are
// PyTorch's (torch.nn losses).
#pragma once

#include "sheaf/tensor.h"
#include "runtime/training/loss_section.h"
#include "runtime/training/metric_sums.h"
#include "runtime/training/record.h"

namespace sheaf {

/// Sums over the rows seen so far.
struct EvaluationSums {
  double loss = 0;
  double weight = 0;  ///< the mean loss's divisor: elements, or targets that are not ignored
  MetricSums metrics;
};

/// Adds one batch to the loss and to the metrics in `loss.metrics`. Error: output and target don't fit each other.
Result<void> add_batch(const LossSection& loss, const HostTensor& output, const HostTensor& target, EvaluationSums& sums);

/// The results over `rows` rows; the time isn't measured.
Evaluation evaluation_of(const LossSection& loss, const EvaluationSums& sums, int64_t rows);

/// Whether this loss limits its targets, so that check_targets() has something to check.
bool needs_check(const LossSection& loss);

/// Checks that every class target is in [0, C) or ignore_index, and every target of BCELoss in [0, 1]; accepts other losses.
/// The error names row and value; `option` is the data's origin, `rows_dim` the target's dimension of rows, and
/// `first_row` the number of the tensor's first row.
Result<void> check_targets(const LossSection& loss, const std::string& option, const HostTensor& target, int rows_dim,
                           int64_t first_row = 0);

}  // namespace sheaf
