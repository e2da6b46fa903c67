// A verb of the command line.
#pragma once

#include "tools/cli/options.h"

#include <optional>
#include <span>
#include <string>

namespace sheaf {

/// A verb: its options, which hold its name, summary and examples, and its function. `run` gets the arguments after the verb
/// and returns the exit status (0 done, 1 the model or data is at fault, 2 the command line is).
struct Verb {
  OptionParser (*options)();
  int (*run)(std::span<const std::string>);
};

/// Runs the one of `verbs` that `arguments` begin with, or `--version`, and returns its exit status; none if they begin with neither.
std::optional<int> run_named(std::span<const Verb> verbs, std::span<const std::string> arguments);

}  // namespace sheaf
