// `sheaf train`.
#pragma once

#include <span>
#include <string>

namespace sheaf {

/// `sheaf train PLAN --devices LIST --data NAME=SOURCE… --batch-size N (--epochs E | --steps K) …` (docs/train.md).
/// Returns the exit status: 0 done; 1 the plan, data or run is at fault, the loss isn't finite, or SIGINT or SIGTERM
/// ended it; 2 the command line is at fault.
int train_verb(std::span<const std::string> arguments);

}  // namespace sheaf
