// sheaf: the command line. Each verb stands in a file of its own.
#include "runtime/base/suggest.h"
#include "runtime/report.h"
#include "runtime/run_main.h"
#include "runtime/training/train_main.h"
#include "tools/verbs.h"

#include <cstdio>
#include <string>
#include <vector>

namespace {

struct Verb {
  const char* name;
  const char* summary;
  int (*run)(std::span<const std::string>);
};

constexpr Verb kVerbs[] = {
    {"compile", "compile a model file to an execution plan", sheaf::compile_verb},
    {"run", "run a plan on a device list", sheaf::run_verb},
    {"train", "train a plan's model on rows of data", sheaf::train_verb},
    {"dump", "show where each op runs, why, and what moves", sheaf::dump_verb},
    {"devices", "list this machine's devices", sheaf::devices_verb},
};

int help(std::FILE* to) {
  std::fputs("usage: sheaf VERB [options]\n\nverbs:\n", to);
  for (const Verb& verb : kVerbs) std::fprintf(to, "  %-9s %s\n", verb.name, verb.summary);
  std::fputs("\n`sheaf VERB --help` lists a verb's options.\n", to);
  return sheaf::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return help(stderr), sheaf::kUsage;
  const std::string name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") return help(stdout);
  if (name == "--version") return std::puts("sheaf " SHEAF_VERSION), sheaf::kDone;
  arguments.erase(arguments.begin());
  for (const Verb& verb : kVerbs)
    if (name == verb.name) return verb.run(arguments);
  std::vector<std::string> known;
  for (const Verb& verb : kVerbs) known.push_back(verb.name);
  return sheaf::report(sheaf::Error("unknown verb '" + name + "'" + sheaf::suggestion(name, known)), sheaf::kUsage);
}
