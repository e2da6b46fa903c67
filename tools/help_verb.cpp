// sheaf help [VERB] [--markdown] [--man]
#include "runtime/base/suggest.h"
#include "tools/cli/report.h"
#include "tools/help.h"
#include "tools/verbs.h"

#include <algorithm>

namespace sheaf {

std::string list_of_verbs(const Palette& palette) {
  std::string text =
      palette.paint(palette.heading, "usage:") + " sheaf VERB [options]\n\n" + palette.paint(palette.heading, "verbs:") + "\n";
  size_t width = 0;
  for (const Verb& verb : verbs()) width = std::max(width, verb.options().verb().size());
  for (const Verb& verb : verbs()) {
    const OptionParser options = verb.options();
    text += "  " + palette.paint(palette.name, options.verb()) + std::string(width + 2 - options.verb().size(), ' ') +
            options.summary() + "\n";
  }
  return text +
         "\n`sheaf help VERB` lists a verb's options and has an example. `sheaf --version` says which version this is.\n";
}

OptionParser help_options() {
  OptionParser parser("help", "Explains a verb, with an example, or lists all verbs.");
  parser.optional_positional("VERB", "what to explain")
      .flag("--markdown", "the verb's options as a table for a page of Markdown")
      .flag("--man", "the manual page sheaf(1), for `man -l -`")
      .example("the options of `sheaf run`", {"sheaf help run"});
  return parser;
}

int help_verb(std::span<const std::string> arguments) {
  const OptionParser parser = help_options();
  Result<Options> options = parser.parse(arguments);
  if (!options) return report_usage(options.error(), "help");
  if (options->help()) return print_help(parser);
  const bool markdown = options->has("--markdown"), man = options->has("--man");
  const std::string& name = options->value("VERB");
  if (man && (markdown || !name.empty()))
    return report_usage(Error("--man: the manual page holds all verbs; give it alone"), "help");
  if (man) return print(manual_page());
  if (name.empty() && markdown) return report_usage(Error("--markdown: of which verb?"), "help");
  if (name.empty()) return print(list_of_verbs(palette_of(stdout)));
  std::vector<std::string> known;
  for (const Verb& verb : verbs()) {
    const OptionParser of_verb = verb.options();
    known.push_back(of_verb.verb());
    if (name == known.back()) return markdown ? print(markdown_of(of_verb)) : print_help(of_verb);
  }
  return report_usage(Error("unknown verb '" + name + "'" + suggestion(name, known)), "help");
}

}  // namespace sheaf
