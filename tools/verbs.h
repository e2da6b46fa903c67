// The verbs of `sheaf` that need the compiler. Each returns the exit status (0 done, 1 the model or data is at
// fault, 2 the command line is).
#pragma once

#include <span>
#include <string>

namespace sheaf {

int compile_verb(std::span<const std::string> arguments);
int dump_verb(std::span<const std::string> arguments);

}  // namespace sheaf
