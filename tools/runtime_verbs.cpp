#include "tools/runtime_verbs.h"

namespace sheaf {

std::optional<int> named_runtime_verb(const std::vector<std::string>& arguments) {
  constexpr Verb verbs[] = {kRun, kTrain, kEval, kEstimate, kBench, kDevices};
  return run_named(verbs, arguments);
}

int runtime_verb(std::vector<std::string> arguments) {
  const auto status = named_runtime_verb(arguments);
  return status ? *status : run_verb(arguments);
}

}  // namespace sheaf
