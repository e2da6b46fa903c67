// The rules for a command line's file names: not empty, and no output that is an input or another output.
#pragma once

#include "tools/cli/options.h"

#include <span>

namespace sheaf {

/// Checks the files among the given arguments, before anything is opened. Errors, the command line's fault: an empty name (from
/// an unset shell variable, say); an output that is the same file as an input or as another output, even through links or under
/// another spelling, whether it exists yet or not.
Result<void> check_files(std::span<const OptionInfo> positionals, std::span<const OptionInfo> options, const Options& given);

}  // namespace sheaf
