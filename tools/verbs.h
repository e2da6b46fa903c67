// The verbs of `sheaf`: the table behind the program, its help, completion and manual page, and the verbs that need the
// compiler.
#pragma once

#include "tools/cli/options.h"

#include <span>
#include <string>

namespace sheaf {

/// A verb: its options, which hold its name, summary and examples, and its function. `run` gets the arguments after the verb
/// and returns the exit status (0 done, 1 the model or data is at fault, 2 the command line is).
struct Verb {
  OptionParser (*options)();
  int (*run)(std::span<const std::string>);
};

/// All verbs, in the order in which they are listed (tools/sheaf.cpp).
std::span<const Verb> verbs();

OptionParser compile_options();
int compile_verb(std::span<const std::string> arguments);
OptionParser import_options();
int import_verb(std::span<const std::string> arguments);
OptionParser dump_options();
int dump_verb(std::span<const std::string> arguments);
OptionParser verify_options();
int verify_verb(std::span<const std::string> arguments);
OptionParser explain_options();
int explain_verb(std::span<const std::string> arguments);
OptionParser help_options();
int help_verb(std::span<const std::string> arguments);
OptionParser completion_options();
int completion_verb(std::span<const std::string> arguments);

}  // namespace sheaf
