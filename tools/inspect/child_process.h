// Another program as a filter: text in, text out, no shell.
#pragma once

#include "runtime/base/error.h"

#include <string>
#include <vector>

namespace sheaf {

struct ChildOutput {
  int status = 0;      ///< exit status; 128 + signal if a signal ended it
  std::string output;  ///< its standard output
  std::string errors;  ///< its standard error
};

/// Runs `command` (a program looked up in PATH, then its arguments), writes `input` to its standard input and collects its
/// output. Errors: the program isn't found or can't be started; a pipe fails.
Result<ChildOutput> run_child(const std::vector<std::string>& command, const std::string& input);

}  // namespace sheaf
