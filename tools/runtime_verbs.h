// The verbs that need no compiler: those of `sheaf-run`.
#pragma once

#include <string>
#include <vector>

namespace sheaf {

/// Runs the verb that `arguments` begin with (`train …`, `eval …`, `bench …`, `estimate …`, `devices …`, `--version`), or else
/// `run` with them, and returns the exit status.
int runtime_verb(std::vector<std::string> arguments);

}  // namespace sheaf
