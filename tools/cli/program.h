// What the programs `sheaf` and `sheaf-run` have in common beneath their verbs: a surrounding in which a failure is an
// error, whatever the process was started with.
#pragma once

#include <string>
#include <vector>

namespace sheaf {

/// main(): runs `verb` on the arguments and returns its exit status. Before that, descriptors 0 to 2 are opened where they
/// are closed, so that no file takes their numbers and what is printed lands in it; a file size limit (SIGXFSZ)
/// becomes an error of writing. Memory that can't be had, anywhere, ends the program with status 1 and a message.
int run_program(int argc, char** argv, int (*verb)(std::vector<std::string> arguments));

/// Says on stderr "sheaf: error: WHAT: WHY" (WHY may be null) and ends the process with status 1, without allocating. May be
/// called in any thread. Nothing is left behind: outputs have no name until they are whole.
[[noreturn]] void end_with_error(const char* what, const char* why = nullptr);
[[noreturn]] void end_without_memory();

}  // namespace sheaf
