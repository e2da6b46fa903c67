// Completion for fish: a `complete` for each verb, option and argument.
#include "tools/completion.h"
#include "tools/verbs.h"

namespace sheaf {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

/// The options of `complete` that describe the possible values; `taken`: the option has a value (-r).
std::string arguments_of(const OptionInfo& option, bool taken) {
  const std::string exclusive = taken ? " -x" : " -f", files = taken ? " -r -F" : " -F";
  std::string words;
  switch (value_kind(option)) {
    case ValueKind::none: return exclusive;
    case ValueKind::verb: return exclusive + " -a '(__sheaf_verbs)'";
    case ValueKind::file:
    case ValueKind::model_or_plan: return files;
    case ValueKind::model: return exclusive + " -k -a '(__fish_complete_suffix .json)'";
    case ValueKind::plan: return exclusive + " -k -a '(__fish_complete_suffix .plan)'";
    case ValueKind::directory: return exclusive + " -a '(__fish_complete_directories)'";
    case ValueKind::devices: return exclusive + " -a '(__sheaf_devices)'";
    case ValueKind::source: return exclusive + " -a '(__sheaf_sources)'";
    case ValueKind::choice: break;
  }
  for (const std::string& choice : option.choices) words += (words.empty() ? "" : " ") + choice;
  return exclusive + " -a " + in_quotes(words);
}

}  // namespace

std::string fish_completion() {
  std::string names, described, rules;
  for (const Verb& verb : verbs()) {
    const OptionParser parser = verb.options();
    const std::string begin = "complete -c sheaf -n '__sheaf_verb_is " + parser.verb() + "'";
    names += " " + parser.verb();
    rules += "\ncomplete -c sheaf -n __sheaf_needs_verb -f -a " + parser.verb() + " -d " + in_quotes(parser.summary()) + "\n";
    rules += begin + " -s h -l help -d 'lists the options'\n";
    for (const OptionInfo& option : parser.options()) {
      std::string names_of;
      for (const std::string& name : spellings_of(option))
        names_of += name.size() == 2 ? " -s " + name.substr(1) : " -l " + name.substr(2);
      rules += begin + names_of + (option.placeholder.empty() ? "" : arguments_of(option, true)) + " -d " +
               in_quotes(option.help) + "\n";
    }
    for (const OptionInfo& argument : parser.positionals()) rules += begin + arguments_of(argument, false) + "\n";
  }
  return "# fish completion for sheaf, printed by `sheaf completion fish`:\n"
         "#   sheaf completion fish > ~/.config/fish/completions/sheaf.fish\n\n"
         "function __sheaf_needs_verb\n  test (count (commandline -opc)) -lt 2\nend\n\n"
         "function __sheaf_verb_is\n  set -l words (commandline -opc)\n"
         "  test (count $words) -ge 2; and test \"$words[2]\" = $argv[1]\nend\n\n"
         "function __sheaf_verbs\n  string split ' ' -- " +
         in_quotes(names.substr(1)) +
         "\nend\n\n"
         "function __sheaf_devices\n  set -l before (string match -r '^.*,' -- (commandline -ct | string replace -r "
         "'^--[^=]*=' ''))\n"
         "  test -n \"$before\"; or set before ''\n"
         "  printf '%s\\n' $before(string split ' ' -- " +
         in_quotes(kOfferedDevices) +
         ")\nend\n\n"
         "function __sheaf_sources\n  set -l token (commandline -ct | string replace -r '^--[^=]*=' '')\n"
         "  set -l name (string match -r '^[^=]*=' -- $token); or return\n"
         "  printf '%s\\n' {$name}" +
         kOfferedSources +
         " $name(__fish_complete_path (string replace -r '^[^=]*=' '' -- $token) | string split -f 1 \\t)\nend\n"
         "\ncomplete -c sheaf -f\n"
         "complete -c sheaf -n __sheaf_needs_verb -s h -l help -d 'lists the verbs'\n"
         "complete -c sheaf -n __sheaf_needs_verb -l version -d 'says which version this is'\n" +
         rules;
}

}  // namespace sheaf
