// The command line's options, declared once: parsing, error messages and `--help` come from the declarations.
#pragma once

#include "runtime/base/error.h"
#include "runtime/base/terminal.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// The options and arguments that a command line gave.
class Options {
 public:
  bool help() const { return help_; }
  bool has(const std::string& name) const { return values_.contains(name); }
  /// The value of an option or positional argument that was given (or has a default); "" otherwise.
  const std::string& value(const std::string& name) const;
  /// All values of a repeatable option, in order.
  const std::vector<std::string>& values(const std::string& name) const;
  /// An integer option's value within [least, most]; `otherwise` if it wasn't given.
  Result<int64_t> integer(const std::string& name, int64_t least, int64_t most, int64_t otherwise) const;

 private:
  friend class OptionParser;
  std::map<std::string, std::vector<std::string>> values_;
  bool help_ = false;
};

/// How an option's value relates to files.
enum class FileUse {
  none,
  input,   ///< names a file that is read
  output,  ///< names a file that is written
  source,  ///< NAME=SOURCE, where SOURCE may name a file that is read
  folder,  ///< names a folder for output files
};

/// An option or positional argument as it was declared: the source of help, shell completion and the man page.
struct OptionInfo {
  std::string name;         ///< "--devices"; of a positional argument "PLAN"
  std::string placeholder;  ///< the name of its value; empty: a flag, or a positional argument
  std::string help;
  std::string group;  ///< its heading; empty: the first group, which has none
  bool required = false, repeatable = false;
  std::vector<std::string> choices;     ///< of an option, the first is the default
  std::vector<std::string> extensions;  ///< of an output: the extensions its name may have, among those that mean a format
  std::string other_spelling;           ///< a second name, "--batch" of "--batch-size"; empty: there is none
  FileUse file = FileUse::none;
};

/// Commands that work in a folder with `models/` in it, and what they are for.
struct Example {
  std::string purpose;
  std::vector<std::string> commands;
};

/// The options of one verb. Each error of parse() is the command line's fault (exit status 2).
class OptionParser {
 public:
  /// `verb`: "run"; `summary`: a sentence for --help.
  OptionParser(std::string verb, std::string summary);

  /// A required argument by position, called e.g. "PLAN".
  OptionParser& positional(std::string name, std::string help);
  /// An optional argument; only optional ones may follow it.
  OptionParser& optional_positional(std::string name, std::string help);
  /// An option with a value: option("--devices", "LIST", "…"). The first name may be a short one ("-o").
  OptionParser& option(std::string name, std::string placeholder, std::string help);
  OptionParser& flag(std::string name, std::string help);
  /// An option that several verbs share: add(devices_option).
  OptionParser& add(void (*declare)(OptionParser&));
  /// A heading for the options that are declared after it.
  OptionParser& group(std::string heading);
  /// Commands for `sheaf help VERB`, the man page and docs; a test runs them: example("draw it", {"sheaf dump …"}).
  OptionParser& example(std::string purpose, std::vector<std::string> commands);
  // These add to the option or argument declared last.
  OptionParser& required();
  OptionParser& repeatable();
  OptionParser& choices(std::vector<std::string> allowed);  ///< of an option, the first is the default
  OptionParser& file(FileUse use);                          ///< the value is a file's name
  /// The value is an output, in the format that these extensions mean: writes({".svg"}). Names with another format's extension
  /// are refused; any other name, such as one without an extension, is the user's choice.
  OptionParser& writes(std::vector<std::string> extensions);
  OptionParser& also(std::string spelling);  ///< a second name; has() and value() take the first

  /// `--name VALUE`, `--name=VALUE`, `-o VALUE`; after `--` everything is positional. Errors: an unknown option (with the
  /// nearest known one), an option without its value or given twice, a value that isn't among the choices, missing or
  /// superfluous arguments, conflicting file names (tools/cli/option_files.h). With `--help` nothing is required.
  Result<Options> parse(std::span<const std::string> arguments) const;
  /// "sheaf run PLAN --devices LIST [options]"
  std::string usage() const;
  /// Usage, each option with its explanation, examples; lines of at most `width` columns.
  std::string help(const Palette& palette = {}, int width = 100) const;

  const std::string& verb() const { return verb_; }
  const std::string& summary() const { return summary_; }
  const std::vector<OptionInfo>& positionals() const { return positionals_; }
  const std::vector<OptionInfo>& options() const { return options_; }
  const std::vector<Example>& examples() const { return examples_; }

 private:
  OptionInfo& last() { return last_is_option_ ? options_.back() : positionals_.back(); }
  const OptionInfo* find(const std::string& name) const;

  std::string verb_, summary_, group_;
  std::vector<OptionInfo> positionals_, options_;
  std::vector<Example> examples_;
  bool last_is_option_ = false;
};

/// The names of an option: one, or two.
std::vector<std::string> spellings_of(const OptionInfo& option);
/// "--devices LIST"; for a flag or positional argument, its name.
std::string form_of(const OptionInfo& option);
/// The explanation of an option, plus what its declaration adds: "…: strict, fast (default strict)".
std::string explanation_of(const OptionInfo& option);

/// An error if `file`, the value of `option`, ends in the extension of a format other than those of `extensions`.
Result<void> check_extension(const std::string& option, const std::string& file, const std::vector<std::string>& extensions);

/// The whole of `text` as an integer within [least, most]; the error names `what`.
Result<int64_t> parse_integer(const std::string& text, const std::string& what, int64_t least, int64_t most);

}  // namespace sheaf
