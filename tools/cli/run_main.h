// The verbs that need only the runtime: `run` and `devices`. `sheaf` and `sheaf-run` call them.
#pragma once

#include "tools/cli/options.h"

#include <span>
#include <string>

namespace sheaf {

/// `sheaf run PLAN --devices LIST …` (docs/contract: the command line). Returns the exit status: 0 done, 1 the plan, data or
/// run is at fault, 2 the command line is. Results go to the output file and stdout, everything else to stderr; a failed run
/// leaves no output file.
int run_verb(std::span<const std::string> arguments);
OptionParser run_options();

/// `sheaf devices [--json]`: the devices that this machine has.
int devices_verb(std::span<const std::string> arguments);
OptionParser devices_options();

}  // namespace sheaf
