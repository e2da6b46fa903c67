#include "tools/cli/verb.h"

#include "runtime/base/version.h"
#include "tools/cli/report.h"

namespace sheaf {

std::optional<int> run_named(std::span<const Verb> verbs, std::span<const std::string> arguments) {
  if (arguments.empty()) return std::nullopt;
  if (arguments.front() == "--version") return print(name_and_version() + "\n");
  for (const Verb& verb : verbs) {
    if (arguments.front() == verb.options().verb()) return verb.run(arguments.subspan(1));
  }
  return std::nullopt;
}

}  // namespace sheaf
