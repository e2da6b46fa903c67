// sheaf completion bash|zsh|fish
#include "tools/cli/report.h"
#include "tools/completion.h"
#include "tools/verbs.h"

namespace sheaf {

OptionParser completion_options() {
  OptionParser parser("completion", "Prints a script that completes sheaf's command line in a shell.");
  parser.positional("SHELL", "the shell")
      .choices({"bash", "zsh", "fish"})
      .example("in bash, from now on", {"sheaf completion bash > sheaf.bash", "source ./sheaf.bash"});
  return parser;
}

int completion_verb(std::span<const std::string> arguments) {
  const OptionParser parser = completion_options();
  Result<Options> options = parser.parse(arguments);
  if (!options) return report_usage(options.error(), "completion");
  if (options->help()) return print_help(parser);
  const std::string& shell = options->value("SHELL");
  return print(shell == "bash" ? bash_completion() : shell == "zsh" ? zsh_completion() : fish_completion());
}

}  // namespace sheaf
