// `--plot FILE.svg`: loss and metrics over the epochs.
#pragma once

#include "runtime/training/record.h"

#include <span>
#include <string>

namespace sheaf {

/// An SVG picture of the losses of all steps, the mean loss of each epoch, and the results of evaluation, with a panel for each
/// metric. `steps_per_epoch` scales the curve's steps to epochs.
std::string training_plot(const std::string& title, const LossCurve& curve, int64_t steps_per_epoch,
                          std::span<const EpochRecord> epochs);

}  // namespace sheaf
