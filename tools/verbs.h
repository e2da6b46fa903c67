// The verbs of `sheaf`: the table behind the program, its help, completion and manual page, and the verbs that need the
// compiler.
#pragma once

#include "tools/cli/verb.h"

#include <span>
#include <string>

namespace sheaf {

/// All verbs, in the order in which they are listed (tools/sheaf-compiler.cpp).
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
