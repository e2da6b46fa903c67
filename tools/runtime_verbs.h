// The verbs that need no compiler: those of `sheaf-run`.
#pragma once

#include <string>
#include <vector>

namespace sheaf {

/// Runs what `arguments` say (`train …`, `eval …`, `bench …`, `estimate …`, `devices …`, `--version`, or else those of `run`) and returns the exit status.
int runtime_verb(std::vector<std::string> arguments);

}  // namespace sheaf
