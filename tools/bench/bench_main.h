// `sheaf bench`.
#pragma once

#include "tools/cli/options.h"

#include <span>
#include <string>

namespace sheaf {

OptionParser bench_options();

/// `sheaf bench PLAN --devices LIST --batch N …` (docs/bench.md). Returns the exit status: 0 done; 1 the plan, data,
/// an earlier report or the run is at fault; 2 the command line is.
int bench_verb(std::span<const std::string> arguments);

}  // namespace sheaf
