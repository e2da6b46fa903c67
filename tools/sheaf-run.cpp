// sheaf-run: `sheaf run` alone (and `sheaf-run train`, `eval`, `bench`, `estimate` and `devices`, which are those verbs of
// `sheaf`), for machines that run plans and compile none. Links no LLVM or MLIR.
#include "runtime/base/version.h"
#include "tools/bench/bench_main.h"
#include "tools/estimate/estimate_main.h"
#include "tools/cli/program.h"
#include "tools/cli/report.h"
#include "tools/cli/run_main.h"
#include "tools/train/eval_main.h"
#include "tools/train/train_main.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace {

int main_verb(std::vector<std::string> arguments) {
  using Verb = int (*)(std::span<const std::string>);
  constexpr std::array<std::pair<std::string_view, Verb>, 5> verbs = {{{"train", sheaf::train_verb},
                                                                       {"eval", sheaf::eval_verb},
                                                                       {"bench", sheaf::bench_verb},
                                                                       {"estimate", sheaf::estimate_verb},
                                                                       {"devices", sheaf::devices_verb}}};
  if (!arguments.empty() && arguments.front() == "--version") return sheaf::print(sheaf::name_and_version() + "\n");
  for (const auto& [name, verb] : verbs) {
    if (!arguments.empty() && arguments.front() == name) return verb(std::span(arguments).subspan(1));
  }
  return sheaf::run_verb(arguments);
}

}  // namespace

int main(int argc, char** argv) { return sheaf::run_program(argc, argv, main_verb); }
