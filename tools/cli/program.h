// What the programs `sheaf`, `sheaf-compiler` and `sheaf-run` share beneath their verbs: an environment in which every failure is an error,
// however the process was started.
#pragma once

#include <string>
#include <vector>

namespace sheaf {

/// main(): runs `verb` on the arguments and returns its exit status. Before that, it opens descriptors 0 to 2 if they are
/// closed, so that no file takes their numbers and receives what is printed; a file size limit (SIGXFSZ) becomes an error of
/// writing. A failed allocation, anywhere, ends the program with status 1 and a message.
int run_program(int argc, char** argv, int (*verb)(std::vector<std::string> arguments));

/// Prints "sheaf: error: WHAT: WHY" (WHY may be null) to stderr and ends the process with status 1, without allocating. May be
/// called in any thread. Nothing is left behind: outputs have no name until they are complete.
[[noreturn]] void end_with_error(const char* what, const char* why = nullptr);
[[noreturn]] void end_without_memory();

}  // namespace sheaf
