// CTC losses on the host.
#pragma once

#include "runtime/training/host_loss.h"

namespace sheaf {

/// Adds torch's CTCLoss of each row in double precision: log probabilities [T, N, C], targets [N, S] and the lengths of both, [N].
/// Error: their shapes don't fit each other.
Result<void> add_sequences(const LossSection& loss, std::span<const HostTensor* const> inputs, EvaluationSums& sums);

}  // namespace sheaf
