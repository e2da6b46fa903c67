// Losses and metrics of finished outputs, on the host in double precision: what evaluation reports. The definitions are
// PyTorch's (torch.nn losses).
#pragma once

#include "sheaf/tensor.h"
#include "runtime/training/loss_section.h"
#include "runtime/training/metric_sums.h"
#include "runtime/training/record.h"

namespace sheaf {

/// Sums over the rows looked at so far.
struct EvaluationSums {
  double loss = 0;
  double weight = 0;  ///< what the mean loss is taken over: elements, or targets that are not ignored
  MetricSums metrics;
};

/// Adds one batch to the loss and to the metrics in `loss.metrics`. Error: output and target don't fit each other.
Result<void> add_batch(const LossSection& loss, const HostTensor& output, const HostTensor& target, EvaluationSums& sums);

/// What they come to, over `rows` rows; nobody measured the time.
Evaluation evaluation_of(const LossSection& loss, const EvaluationSums& sums, int64_t rows);

/// This loss limits what its targets may be: check_targets() has something to check.
bool needs_check(const LossSection& loss);

/// Every class target is in [0, C) or ignore_index, every target of BCELoss in [0, 1]; nothing to check for other losses.
/// The error names row and value; `option` is where the data comes from, `rows_dim` the target's dimension of rows, and
/// `first_row` the number of the tensor's first one.
Result<void> check_targets(const LossSection& loss, const std::string& option, const HostTensor& target, int rows_dim,
                           int64_t first_row = 0);

}  // namespace sheaf
