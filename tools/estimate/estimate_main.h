// The verb `estimate`, which `sheaf` and `sheaf-run` call.
#pragma once

#include "tools/cli/options.h"

#include <span>
#include <string>

namespace sheaf {

/// `sheaf estimate PLAN --devices LIST --batch N [--json]`. Returns the exit status: 0 done, 1 the plan is at fault or has no
/// such program, 2 the command line is at fault.
int estimate_verb(std::span<const std::string> arguments);
OptionParser estimate_options();

}  // namespace sheaf
