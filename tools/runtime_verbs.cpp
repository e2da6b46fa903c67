#include "tools/runtime_verbs.h"

#include "runtime/base/version.h"
#include "tools/bench/bench_main.h"
#include "tools/cli/report.h"
#include "tools/cli/run_main.h"
#include "tools/estimate/estimate_main.h"
#include "tools/train/eval_main.h"
#include "tools/train/train_main.h"

#include <array>
#include <utility>

namespace sheaf {

int runtime_verb(std::vector<std::string> arguments) {
  using Verb = int (*)(std::span<const std::string>);
  constexpr std::array<std::pair<std::string_view, Verb>, 5> verbs = {{{"train", train_verb},
                                                                       {"eval", eval_verb},
                                                                       {"bench", bench_verb},
                                                                       {"estimate", estimate_verb},
                                                                       {"devices", devices_verb}}};
  if (!arguments.empty() && arguments.front() == "--version") return print(name_and_version() + "\n");
  for (const auto& [name, verb] : verbs) {
    if (!arguments.empty() && arguments.front() == name) return verb(std::span(arguments).subspan(1));
  }
  return run_verb(arguments);
}

}  // namespace sheaf
