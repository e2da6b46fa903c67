#include "tools/runtime_verbs.h"

#include "runtime/base/version.h"
#include "tools/cli/report.h"

namespace sheaf {

std::optional<int> named_runtime_verb(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return std::nullopt;
  if (arguments.front() == "--version") return print(name_and_version() + "\n");
  for (const Verb& verb : {kRun, kTrain, kEval, kEstimate, kBench, kDevices}) {
    if (arguments.front() == verb.options().verb()) return verb.run(std::span(arguments).subspan(1));
  }
  return std::nullopt;
}

int runtime_verb(std::vector<std::string> arguments) {
  const auto status = named_runtime_verb(arguments);
  return status ? *status : run_verb(arguments);
}

}  // namespace sheaf
