#include "tools/cli/named_sources.h"

#include "runtime/base/suggest.h"
#include "runtime/data/source.h"
#include "tools/cli/report.h"

#include <algorithm>

namespace sheaf {

std::string source_help(const std::string& what) {
  return what +
         ": file.npy, file.npz:KEY, file.safetensors:KEY, an IDX file, file.csv:COLUMNS, images:DIR[,OPTION…], classes:DIR, "
         "text:FILE[,next], tokens:SOURCE[,next], or random:ROWS (docs/data.md)";
}

Result<std::map<std::string, std::string>> named_sources(const std::string& option, const std::vector<std::string>& given) {
  std::map<std::string, std::string> sources;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return Error(option + " '" + text + "': expected NAME=SOURCE");
    }
    const std::string name = text.substr(0, equals), source = text.substr(equals + 1);
    if (auto parsed = parse_source(source); !parsed) {
      parsed.error().diagnostics[0].message = option + " '" + text + "': " + parsed.error().message();
      return parsed.error();
    }
    if (!sources.emplace(name, source).second) return Error(option + ": '" + name + "' is given twice");
  }
  return sources;
}

Result<void> check_names(const std::string& option, const std::string& what, const std::string& model,
                         const std::vector<ValueInfo>& values, const std::map<std::string, std::string>& sources) {
  std::vector<std::string> problems, known;
  for (const ValueInfo& value : values) {
    known.push_back(value.name);
    if (!sources.contains(value.name)) problems.push_back("missing: " + option + " " + value.name + "=SOURCE");
  }
  for (const auto& [name, source] : sources) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = nearest(name, known);
    problems.push_back("superfluous: '" + name + "'" + (near ? "; did you mean '" + *near + "'?" : ""));
  }
  if (problems.empty()) return {};
  const std::string list = quoted_list(known);
  Error error("the " + what + " given are not those of model '" + model + "', which has " + (list.empty() ? "none" : list));
  for (std::string& problem : problems) error.note(std::move(problem));
  return error;
}

Result<void> load_weights(Model& model, const std::string& file) {
  SHEAF_ASSIGN(const auto notes, model.load_parameters(file));
  for (const Diagnostic& note : notes) report_warning(note);
  return {};
}

}  // namespace sheaf
