// sheaf-compiler: what `sheaf` becomes for verbs that need the compiler, help, and command lines without a known verb. Each verb
// has a file of its own.
#include "runtime/base/suggest.h"
#include "tools/cli/program.h"
#include "tools/cli/report.h"
#include "tools/help.h"
#include "tools/runtime_verbs.h"
#include "tools/verbs.h"

#include "llvm/Support/ErrorHandling.h"

#include <cstdio>
#include <string>
#include <vector>

namespace sheaf {
namespace {

constexpr Verb kVerbs[] = {
    {compile_options, compile_verb},
    {import_options, import_verb},
    kRun,
    kTrain,
    kEval,
    {dump_options, dump_verb},
    {verify_options, verify_verb},
    {explain_options, explain_verb},
    kEstimate,
    kBench,
    kDevices,
    {help_options, help_verb},
    {completion_options, completion_verb},
};

int main_verb(std::vector<std::string> arguments) {
  if (arguments.empty()) return std::fputs(list_of_verbs(palette_of(stderr)).c_str(), stderr), kUsage;
  std::string& name = arguments.front();
  if (name == "--help" || name == "-h") name = "help";
  if (const auto status = run_named(kVerbs, arguments)) return *status;
  const bool is_option = name.starts_with("-");
  std::vector<std::string> known = {"--help", "--version"};
  if (!is_option) {
    known.clear();
    for (const Verb& verb : kVerbs) known.push_back(verb.options().verb());
  }
  return report(Error((is_option ? "unknown option '" : "unknown verb '") + name + "'" + suggestion(name, known))
                    .note("`sheaf help` lists the verbs"),
                kUsage);
}

/// LLVM is compiled without exceptions and reports a failed allocation, or a stream that can't be written, in its own ways.
void take_llvm_errors() {
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { end_without_memory(); });
  llvm::install_fatal_error_handler([](void*, const char* reason, bool) { end_with_error("the compiler gave up", reason); });
}

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace sheaf

int main(int argc, char** argv) {
  sheaf::take_llvm_errors();
  return sheaf::run_program(argc, argv, sheaf::main_verb);
}
