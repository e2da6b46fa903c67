// The description of a verb's options: `sheaf VERB --help`.
#include "tools/cli/options.h"

#include <algorithm>

namespace sheaf {
namespace {

constexpr size_t kLeft = 28;  // width of the column of option names

/// Columns that UTF-8 text takes: its code points (no wide or combining characters are used).
size_t columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// The words of `text`, filled into lines that begin at column `indent`, where the first one already starts.
std::string filled(std::string_view text, size_t indent, size_t width) {
  std::string result;
  size_t at = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (at > indent && at + 1 + columns(word) > width) {
      result += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      result += ' ';
      ++at;
    }
    result += word;
    at += columns(word);
  }
  return result;
}

std::string row(const OptionInfo& option, const Palette& palette, size_t width) {
  const std::string form = form_of(option);
  std::string line = "  " + palette.paint(palette.name, form);
  // If a name leaves no room for two spaces, its explanation starts on the next line.
  line += columns(form) + 4 > kLeft ? "\n" + std::string(kLeft, ' ') : std::string(kLeft - 2 - columns(form), ' ');
  return line + filled(explanation_of(option), kLeft, width) + "\n";
}

}  // namespace

std::vector<std::string> spellings_of(const OptionInfo& option) {
  std::vector<std::string> names = {option.name};
  if (!option.other_spelling.empty()) names.push_back(option.other_spelling);
  return names;
}

std::string form_of(const OptionInfo& option) {
  return option.placeholder.empty() ? option.name : option.name + " " + option.placeholder;
}

std::string explanation_of(const OptionInfo& option) {
  std::string text = option.help;
  if (option.repeatable) text += " (may be repeated)";
  if (!option.other_spelling.empty()) text += " (also " + option.other_spelling + ")";
  for (size_t i = 0; i < option.choices.size(); ++i) text += (i == 0 ? ": " : ", ") + option.choices[i];
  if (!option.choices.empty() && !option.placeholder.empty() && !option.required)
    text += " (default " + option.choices[0] + ")";
  return text;
}

std::string OptionParser::usage() const {
  std::string text = "sheaf " + verb_;
  for (const OptionInfo& argument : positionals_) text += argument.required ? " " + argument.name : " [" + argument.name + "]";
  bool more = false;
  for (const OptionInfo& option : options_) {
    if (option.required) text += " " + form_of(option);
    more |= !option.required;
  }
  return more ? text + " [options]" : text;
}

std::string OptionParser::help(const Palette& palette, int columns) const {
  const size_t width = static_cast<size_t>(std::max(columns, static_cast<int>(kLeft) + 20));
  std::string text = palette.paint(palette.heading, "usage:") + " " + usage() + "\n\n" + filled(summary_, 0, width) + "\n\n";
  for (const OptionInfo& argument : positionals_) text += row(argument, palette, width);
  std::string group;
  for (const OptionInfo& option : options_) {
    if (option.group != group) text += "\n" + palette.paint(palette.heading, option.group + ":") + "\n";
    group = option.group;
    text += row(option, palette, width);
  }
  for (size_t i = 0; i < examples_.size(); ++i) {
    if (i == 0) text += "\n" + palette.paint(palette.heading, examples_.size() == 1 ? "example:" : "examples:") + "\n";
    text += "  " + filled("# " + examples_[i].purpose, 2, width) + "\n";
    for (const std::string& command : examples_[i].commands) text += "  " + palette.paint(palette.name, command) + "\n";
  }
  return text;
}

}  // namespace sheaf
