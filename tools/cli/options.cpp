#include "tools/cli/options.h"

#include "runtime/base/suggest.h"
#include "tools/cli/option_files.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

namespace sheaf {
namespace {

Result<void> check_choice(const std::string& what, const std::string& value, const OptionInfo& declared) {
  const auto& allowed = declared.choices;
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return {};
  return Error(what + " can't be '" + value + "'" + suggestion(value, allowed));
}

/// File extensions that someone may give an output to choose its format.
constexpr const char* kFormats[] = {".npy", ".npz", ".safetensors", ".pt",   ".pth",  ".onnx",  ".png", ".jpg", ".jpeg",
                                    ".gif", ".pdf", ".svg",         ".html", ".json", ".jsonl", ".csv", ".dot", ".mlir"};

std::string extension_of(const std::string& file) {
  const size_t dot = file.find_last_of("./");
  std::string extension = dot == std::string::npos || file[dot] == '/' ? "" : file.substr(dot);
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

/// "-o" and "--output" are names; "-1" and "-" are values.
bool looks_like_option(const std::string& text) {
  return text.size() >= 2 && text[0] == '-' && (text[1] == '-' || (text[1] >= 'a' && text[1] <= 'z'));
}

}  // namespace

Result<void> check_extension(const std::string& option, const std::string& file, const std::vector<std::string>& extensions) {
  const std::string extension = extension_of(file);
  if (std::ranges::find(kFormats, extension) == std::end(kFormats)) return {};
  if (std::ranges::find(extensions, extension) != extensions.end()) return {};
  return Error(option + " '" + file + "': the output isn't " + extension + "; expected a name that ends in " +
               quoted_list(extensions));
}

Result<int64_t> parse_integer(const std::string& text, const std::string& what, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.empty() && code == std::errc() && end == text.data() + text.size() && value >= least && value <= most) {
    return value;
  }
  return Error(what + ": '" + text + "' is not an integer from " + std::to_string(least) + " to " + std::to_string(most));
}

const std::string& Options::value(const std::string& name) const {
  static const std::string nothing;
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? nothing : found->second.front();
}

const std::vector<std::string>& Options::values(const std::string& name) const {
  static const std::vector<std::string> nothing;
  const auto found = values_.find(name);
  return found == values_.end() ? nothing : found->second;
}

Result<int64_t> Options::integer(const std::string& name, int64_t least, int64_t most, int64_t otherwise) const {
  return has(name) ? parse_integer(value(name), name, least, most) : Result<int64_t>(otherwise);
}

OptionParser::OptionParser(std::string verb, std::string summary) : verb_(std::move(verb)), summary_(std::move(summary)) {}

OptionParser& OptionParser::positional(std::string name, std::string help) {
  positionals_.push_back({std::move(name), "", std::move(help), "", true, false, {}, {}, ""});
  last_is_option_ = false;
  return *this;
}

OptionParser& OptionParser::optional_positional(std::string name, std::string help) {
  positional(std::move(name), std::move(help));
  positionals_.back().required = false;
  return *this;
}

OptionParser& OptionParser::option(std::string name, std::string placeholder, std::string help) {
  options_.push_back({std::move(name), std::move(placeholder), std::move(help), group_, false, false, {}, {}, ""});
  last_is_option_ = true;
  return *this;
}

OptionParser& OptionParser::flag(std::string name, std::string help) { return option(std::move(name), "", std::move(help)); }

OptionParser& OptionParser::add(void (*declare)(OptionParser&)) {
  declare(*this);
  return *this;
}

OptionParser& OptionParser::group(std::string heading) {
  group_ = std::move(heading);
  return *this;
}

OptionParser& OptionParser::example(std::string purpose, std::vector<std::string> commands) {
  examples_.push_back({std::move(purpose), std::move(commands)});
  return *this;
}

OptionParser& OptionParser::required() {
  last().required = true;
  return *this;
}

OptionParser& OptionParser::repeatable() {
  last().repeatable = true;
  return *this;
}

OptionParser& OptionParser::choices(std::vector<std::string> allowed) {
  last().choices = std::move(allowed);
  return *this;
}

OptionParser& OptionParser::file(FileUse use) {
  last().file = use;
  return *this;
}

OptionParser& OptionParser::writes(std::vector<std::string> extensions) {
  last().extensions = std::move(extensions);
  return file(FileUse::output);
}

OptionParser& OptionParser::also(std::string spelling) {
  last().other_spelling = std::move(spelling);
  return *this;
}

const OptionInfo* OptionParser::find(const std::string& name) const {
  const auto found = std::find_if(options_.begin(), options_.end(), [&](const OptionInfo& o) {
    return o.name == name || (!o.other_spelling.empty() && o.other_spelling == name);
  });
  return found == options_.end() ? nullptr : &*found;
}

Result<Options> OptionParser::parse(std::span<const std::string> arguments) const {
  Options options;
  std::vector<std::string> places;
  bool only_places = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (only_places || !looks_like_option(argument)) {
      places.push_back(argument);
      continue;
    }
    if (argument == "--") {
      only_places = true;
      continue;
    }
    if (argument == "--help" || argument == "-h") {
      options.help_ = true;
      return options;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const OptionInfo* declared = find(name);
    if (!declared) {
      std::vector<std::string> known{"--help"};
      for (const OptionInfo& option : options_) std::ranges::move(spellings_of(option), std::back_inserter(known));
      const auto near = nearest(name, known);
      return Error("unknown option '" + name + "'" + (near ? "; did you mean '" + *near + "'?" : ""));
    }
    auto& values = options.values_[declared->name];
    if (!values.empty() && !declared->repeatable) return Error("option '" + name + "' is given twice");
    std::string value;
    if (equals != std::string::npos) {
      if (declared->placeholder.empty()) return Error("option '" + name + "' takes no value");
      value = argument.substr(equals + 1);
    } else if (!declared->placeholder.empty()) {
      if (i + 1 >= arguments.size() || looks_like_option(arguments[i + 1])) {
        return Error("option '" + name + "' needs a value, " + declared->placeholder);
      }
      value = arguments[++i];
    }
    SHEAF_TRY(check_choice("option '" + name + "'", value, *declared));
    if (!declared->extensions.empty()) {
      SHEAF_TRY(check_extension("option '" + name + "'", value, declared->extensions));
    }
    values.push_back(std::move(value));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (i >= positionals_.size()) return Error("unexpected argument '" + places[i] + "'");
    const std::string& name = positionals_[i].name;
    SHEAF_TRY(check_choice("argument " + name, places[i], positionals_[i]));
    options.values_[name] = {places[i]};
  }
  if (places.size() < positionals_.size() && positionals_[places.size()].required) {
    const OptionInfo& missing = positionals_[places.size()];
    return Error("argument " + missing.name + " is missing: " + explanation_of(missing));
  }
  for (const OptionInfo& declared : options_) {
    if (declared.required && !options.has(declared.name)) {
      return Error("option '" + declared.name + "' is required: " + declared.help);
    }
    if (!declared.choices.empty() && !options.has(declared.name)) options.values_[declared.name] = {declared.choices[0]};
  }
  SHEAF_TRY(check_files(positionals_, options_, options));
  return options;
}

}  // namespace sheaf
