// What a command line's file names must be: not empty, and no output that is an input or another output.
#pragma once

#include "tools/cli/options.h"

#include <span>

namespace sheaf {

/// Checks the files among what was given, before anything is opened. Errors, the command line's: an empty name (of an
/// unset shell variable, say); an output that is the same file as an input or as another output, by links or another
/// spelling too, whether it is there yet or not.
Result<void> check_files(std::span<const OptionInfo> positionals, std::span<const OptionInfo> options, const Options& given);

}  // namespace sheaf
