// Losses and metrics of finished outputs, on the host in double precision: what evaluation reports. The definitions are
// PyTorch's (torch.nn losses).
#pragma once

#include "sheaf/tensor.h"
#include "runtime/training/loss_section.h"
#include "runtime/training/metric_sums.h"
#include "runtime/training/record.h"

#include <span>

namespace sheaf {

/// Sums over the rows seen so far.
struct EvaluationSums {
  double loss = 0;
  double weight = 0;  ///< the mean loss's divisor: elements, or targets that are not ignored
  MetricSums metrics;
};

/// Adds one batch, a tensor for each of `loss.inputs`, to the loss and to the metrics in `loss.metrics`. Error: they don't fit
/// each other.
Result<void> add_batch(const LossSection& loss, std::span<const HostTensor* const> inputs, EvaluationSums& sums);

/// The results over `rows` rows; the time isn't measured.
Evaluation evaluation_of(const LossSection& loss, const EvaluationSums& sums, int64_t rows);

/// The loss limits what this input of it may be: check_input() has something to check.
bool needs_check(const LossSection& loss, size_t input);

/// Every class target is in [0, C) or ignore_index (or -1 in a list of classes), every target of BCELoss in [0, 1], every length of CTCLoss within its
/// sequence; nothing to check elsewhere.
/// The error names row and value; `option` is the data's origin, `rows_dim` the tensor's dimension of rows, and
/// `first_row` the number of its first one.
Result<void> check_input(const LossSection& loss, size_t input, const std::string& option, const HostTensor& tensor,
                         int rows_dim, int64_t first_row = 0);

}  // namespace sheaf
