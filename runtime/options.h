// The command line's options, declared once: parsing, the messages about what is wrong, and `--help` come from it.
#pragma once

#include "runtime/base/error.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// What was given on a command line.
class Options {
 public:
  bool help() const { return help_; }
  bool has(const std::string& name) const { return values_.contains(name); }
  /// The value of an option or positional argument that was given (or has a default); "" otherwise.
  const std::string& value(const std::string& name) const;
  /// All values of a repeatable option, in order.
  const std::vector<std::string>& values(const std::string& name) const;
  /// An integer option's value within [least, most]; `otherwise` where it wasn't given.
  Result<int64_t> integer(const std::string& name, int64_t least, int64_t most, int64_t otherwise) const;

 private:
  friend class OptionParser;
  std::map<std::string, std::vector<std::string>> values_;
  bool help_ = false;
};

/// The options of one verb. Each error that parse() gives is the command line's fault (exit status 2).
class OptionParser {
 public:
  /// `verb`: "run"; `summary`: a sentence for --help.
  OptionParser(std::string verb, std::string summary);

  /// A required argument by position, called e.g. "PLAN".
  OptionParser& positional(std::string name, std::string help);
  /// An option with a value: option("--devices", "LIST", "…"). The first name may be a short one ("-o").
  OptionParser& option(std::string name, std::string placeholder, std::string help);
  OptionParser& flag(std::string name, std::string help);
  // These say more about the option declared last.
  OptionParser& required();
  OptionParser& repeatable();
  OptionParser& choices(std::vector<std::string> allowed);  ///< the first is the default

  /// `--name VALUE`, `--name=VALUE`, `-o VALUE`; after `--` everything is positional. Errors: an unknown option
  /// (with the nearest known one), one without its value or given twice, a value that isn't among the choices,
  /// missing or superfluous arguments. With `--help` nothing is required.
  Result<Options> parse(std::span<const std::string> arguments) const;
  /// Usage, then each option with its explanation.
  std::string help() const;
  const std::string& verb() const { return verb_; }

 private:
  struct Declared {
    std::string name, placeholder, help;  ///< no placeholder: a flag
    bool required = false, repeatable = false;
    std::vector<std::string> choices;
  };
  const Declared* find(const std::string& name) const;

  std::string verb_, summary_;
  std::vector<Declared> positionals_, options_;
};

/// The whole of `text` as an integer within [least, most]; the error names `what`.
Result<int64_t> parse_integer(const std::string& text, const std::string& what, int64_t least, int64_t most);

}  // namespace sheaf
