// Help as documents: a verb's table in Markdown, the manual page.
#include "runtime/base/version.h"
#include "tools/help.h"
#include "tools/verbs.h"

#include <cstdint>
#include <cstdio>

namespace sheaf {
namespace {

/// Text for a cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_') result += '\\';
    result += c;
  }
  return result;
}

/// The character that begins at `at` in UTF-8 text; moves `at` past it, except in damaged text.
uint32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const uint32_t first = byte(at++);
  const int more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  uint32_t character = more == 0 ? first : first & (0x3F >> more);
  for (int i = 0; i < more; ++i) character = character << 6 | (byte(at++) & 0x3F);
  return character;
}

/// Text for roff: escapes backslashes, the dash of options (which must stay a plain one), non-ASCII characters, and lines that
/// would be requests.
std::string roff(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const uint32_t c = next_character(text, at);
    char escape[16];
    if (c == '\\') result += "\\e";
    else if (c == '-') result += "\\-";
    else if (c < 0x80) result += static_cast<char>(c);
    else std::snprintf(escape, sizeof escape, "\\[u%04X]", c), result += escape;
  }
  if (!result.empty() && (result[0] == '.' || result[0] == '\'')) result.insert(0, "\\&");
  return result;
}

/// `**--devices** *LIST*`, in roff.
std::string roff_form(const OptionInfo& option) {
  const bool flag = option.placeholder.empty();
  if (option.name[0] != '-') return "\\fI" + roff(option.name) + "\\fR";
  return "\\fB" + roff(option.name) + "\\fR" + (flag ? "" : " \\fI" + roff(option.placeholder) + "\\fR");
}

std::string roff_entry(const OptionInfo& option) {
  return ".TP\n" + roff_form(option) + "\n" + roff(explanation_of(option)) + "\n";
}

std::string roff_commands(const Example& example) {
  std::string text = ".PP\nExample: " + roff(example.purpose) + ":\n.PP\n.RS 4\n.nf\n";
  for (const std::string& command : example.commands) text += roff(command) + "\n";
  return text + ".fi\n.RE\n";
}

std::string roff_verb(const OptionParser& parser) {
  std::string text =
      ".SS sheaf " + roff(parser.verb()) + "\n" + roff(parser.summary()) + "\n.PP\n\\fB" + roff(parser.usage()) + "\\fR\n";
  for (const OptionInfo& argument : parser.positionals()) text += roff_entry(argument);
  std::string group;
  for (const OptionInfo& option : parser.options()) {
    if (option.group != group) text += ".PP\n\\fI" + roff(option.group) + "\\fR\n";
    group = option.group;
    text += roff_entry(option);
  }
  for (const Example& example : parser.examples()) text += roff_commands(example);
  return text;
}

}  // namespace

std::string markdown_of(const OptionParser& parser) {
  std::string text = "```\n" + parser.usage() + "\n```\n\n| option | meaning |\n|---|---|\n";
  for (const OptionInfo& argument : parser.positionals())
    text += "| `" + argument.name + "` | " + cell(explanation_of(argument)) + " |\n";
  std::string group;
  for (const OptionInfo& option : parser.options()) {
    if (option.group != group) text += "| **" + cell(option.group) + "** | |\n";
    group = option.group;
    text += "| `" + form_of(option) + "` | " + cell(explanation_of(option)) + " |\n";
  }
  for (const Example& example : parser.examples()) {
    text += "\nExample: " + example.purpose + ".\n\n```\n";
    for (const std::string& command : example.commands) text += command + "\n";
    text += "```\n";
  }
  return text;
}

std::string manual_page() {
  std::string text =
      ".TH SHEAF 1 \"\" \"" + name_and_version() +
      "\" \"User Commands\"\n"
      ".SH NAME\nsheaf \\- compile, run and look into data\\-parallel models\n"
      ".SH SYNOPSIS\n.B sheaf\n.I VERB\n[\\fIarguments and options\\fR]\n"
      ".SH DESCRIPTION\n"
      "A model file (JSON, with the names and arguments of PyTorch's layers) is compiled to a plan that says which\n"
      "device does what, in which order and in which bytes: one plan for every list of devices and every batch\n"
      "size. The other verbs run plans, train with them, show, check and measure them.\n"
      ".PP\n"
      "A \\fILIST\\fR of devices reads like \\fBcpu:0,cpu:1\\fR or \\fBcpu:0\\-3\\fR; \\fBcpu\\fR alone runs all of a\n"
      "model on the host, unpartitioned. Wherever a verb takes an option \\fB\\-\\-name\\fR \\fIVALUE\\fR, it takes\n"
      "\\fB\\-\\-name=\\fR\\fIVALUE\\fR too; every verb has \\fB\\-\\-help\\fR.\n"
      ".SH VERBS\n";
  for (const Verb& verb : verbs()) text += roff_verb(verb.options());
  return text +
         ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\nthe model, plan, data or run is at fault; a message says where and why\n"
         ".TP\n2\nthe command line is at fault\n.PP\nA failed command leaves no output file behind.\n"
         ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nnot empty: no colours, on a terminal too\n"
         ".TP\n\\fBFORCE_COLOR\\fR\nneither empty nor 0: colours where the output is no terminal, too\n"
         ".TP\n\\fBSHEAF_CACHE\\fR\nthe folder of what is kept, instead of the default below\n"
         ".SH FILES\nA plan contains machine code: run only plans you trust, as with any shared library.\n"
         ".TP\n$XDG_CACHE_HOME/sheaf, else ~/.cache/sheaf\nwhat sheaf can make again: machine code of kernels and GPUs' "
         "libraries' plans, up to\n"
         "512 MiB each, and measurements of implementations. Delete it whenever you like.\n";
}

}  // namespace sheaf
