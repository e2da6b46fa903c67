// Completion for zsh: one call of _arguments for each verb.
#include "tools/completion.h"
#include "tools/verbs.h"

namespace sheaf {
namespace {

/// Text between single quotes, with zsh's special characters of a specification escaped.
std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    if (c == '\'') result += "'\\''";
    else result += c;
  }
  return result;
}

std::string action(const OptionInfo& option) {
  std::string words;
  switch (value_kind(option)) {
    case ValueKind::none: return " ";
    case ValueKind::verb: return "_sheaf_verbs";
    case ValueKind::file: return "_files";
    case ValueKind::model: return "_files -g \"*.json\"";
    case ValueKind::plan: return "_files -g \"*.plan\"";
    case ValueKind::model_or_plan: return "_files -g \"*.(json|plan)\"";
    case ValueKind::directory: return "_files -/";
    case ValueKind::devices: return "_sheaf_devices";
    case ValueKind::source: return "_sheaf_sources";
    case ValueKind::choice: break;
  }
  for (const std::string& choice : option.choices) words += (words.empty() ? "" : " ") + choice;
  return "(" + words + ")";
}

/// The specification of an option under one of its names; the others are not offered after it.
std::string specification(const OptionInfo& option, const std::string& name) {
  const bool is_short = name.size() == 2;
  std::string text = option.repeatable ? "'*" : "'";
  if (!option.other_spelling.empty()) text += "(" + option.name + " " + option.other_spelling + ")";
  text += name;
  if (!option.placeholder.empty()) text += is_short ? "+" : "=";
  text += "[" + escaped(option.help, "[]\\") + "]";
  if (!option.placeholder.empty()) text += ":" + escaped(option.placeholder, ":\\") + ":" + action(option);
  return text + "'";
}

}  // namespace

std::string zsh_completion() {
  std::string names, cases;
  for (const Verb& verb : verbs()) {
    const OptionParser parser = verb.options();
    names += "    '" + parser.verb() + ":" + escaped(parser.summary(), ":\\") + "'\n";
    cases += "        " + parser.verb() + ")\n          _arguments '(- *)'{-h,--help}'[lists the options]'";
    for (const OptionInfo& option : parser.options()) {
      for (const std::string& name : spellings_of(option)) cases += " \\\n            " + specification(option, name);
    }
    for (const OptionInfo& argument : parser.positionals())
      cases += " \\\n            '" + std::string(argument.required ? ":" : "::") + escaped(argument.name, ":\\") + ":" +
               action(argument) + "'";
    cases += " ;;\n";
  }
  return "#compdef sheaf\n# zsh completion for sheaf, printed by `sheaf completion zsh`; a file _sheaf in a folder of $fpath, "
         "or\n"
         "# in ~/.zshrc behind compinit: source <(sheaf completion zsh)\n\n"
         "_sheaf_verbs() {\n  local -a verbs=(\n" +
         names +
         "  )\n  _describe verb verbs\n}\n\n"
         "_sheaf_devices() {\n  local -a entries=(" +
         kOfferedDevices +
         ")\n"
         "  compset -P '*,'\n  compadd -q -S '' -- $entries\n}\n\n"
         "_sheaf_sources() {\n  compset -P '*=' || return\n  compadd -S '' -- " +
         kOfferedSources +
         "\n  _files\n}\n\n"
         "_sheaf() {\n  local curcontext=$curcontext state\n  local -a line\n"
         "  _arguments -C '(- *)'{-h,--help}'[lists the verbs]' '(- *)--version[says which version this is]' \\\n"
         "    '1:verb:_sheaf_verbs' '*::argument:->arguments'\n"
         "  case $state in\n    arguments)\n      case $words[1] in\n" +
         cases +
         "      esac ;;\n  esac\n}\n\n"
         "if [[ $funcstack[1] == _sheaf ]]; then _sheaf \"$@\"; else compdef _sheaf sheaf; fi\n";
}

}  // namespace sheaf
