// sheaf: the command line. Verbs that run plans are in this program, which starts in milliseconds; for the others it becomes
// `sheaf-compiler`, beside it, where LLVM and MLIR alone take 30 ms to load.
#include "runtime/base/program_folder.h"
#include "tools/cli/program.h"
#include "tools/cli/report.h"
#include "tools/runtime_verbs.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sheaf {
namespace {

/// Replaces this program by the compiler's with the same arguments; returns an exit status if that fails.
int become_compiler(std::vector<std::string> arguments) {
  std::error_code unknown;
  const std::string program = (program_folder(unknown) / "sheaf-compiler").string();
  std::vector<char*> argv = {const_cast<char*>("sheaf")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  if (!unknown) ::execv(program.c_str(), argv.data());
  return report(Error("this verb needs the compiler, which can't be started: " + program + ": " +
                      (unknown ? unknown.message() : std::strerror(errno)))
                    .note("`sheaf` and `sheaf-compiler` are built and installed together, into one folder"),
                kFailed);
}

int main_verb(std::vector<std::string> arguments) {
  const auto status = named_runtime_verb(arguments);
  return status ? *status : become_compiler(std::move(arguments));
}

}  // namespace
}  // namespace sheaf

int main(int argc, char** argv) { return sheaf::run_program(argc, argv, sheaf::main_verb); }
