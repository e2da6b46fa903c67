#include "tools/explain/select.h"

#include "runtime/base/parameter_names.h"
#include "runtime/base/suggest.h"

#include <algorithm>
#include <functional>

namespace sheaf {
namespace {

/// Every run of as many parts as `pattern` has in the layers' names, without `module.` parts unless the pattern has some:
/// candidates for what was meant.
std::vector<std::string> names_like(const std::vector<std::string>& known, const std::string& pattern) {
  const auto wanted = static_cast<size_t>(std::count(pattern.begin(), pattern.end(), '.'));
  std::set<std::string> names;
  for (const std::string& layer : known) {
    const std::string name = without_module(pattern) == pattern ? without_module(layer) : layer;
    std::vector<size_t> starts = {0};  // of the parts, plus one past the last
    for (size_t i = 0; i < name.size(); ++i)
      if (name[i] == '.') starts.push_back(i + 1);
    starts.push_back(name.size() + 1);
    for (size_t first = 0; first + wanted + 1 < starts.size(); ++first)
      names.insert(name.substr(starts[first], starts[first + wanted + 1] - 1 - starts[first]));
  }
  names.erase("");
  return {names.begin(), names.end()};
}

}  // namespace

Result<std::set<std::string>> select_layers(const std::vector<std::string>& known, const std::string& pattern) {
  const std::string bare = without_module(pattern);
  const std::function<bool(const std::string&)> rules[] = {
      [&](const std::string& layer) { return layer == pattern; },
      [&](const std::string& layer) { return layer.starts_with(pattern + "."); },
      [&](const std::string& layer) { return without_module(layer) == bare; },
      [&](const std::string& layer) { return without_module(layer).starts_with(bare + "."); },
      [&](const std::string& layer) { return without_module(layer).ends_with("." + bare); },
      [&](const std::string& layer) { return without_module(layer).find("." + bare + ".") != std::string::npos; },
  };
  for (const auto& rule : rules) {
    std::set<std::string> found;
    for (const std::string& layer : known)
      if (!layer.empty() && rule(layer)) found.insert(layer);
    if (!found.empty()) return found;
  }
  return Error("the model has no layer '" + pattern + "'" + suggestion(pattern, names_like(known, pattern)));
}

Result<std::string> select_name(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  std::vector<std::string> names = known;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return Error("nothing here has the " + what + " '" + name + "'" + suggestion(name, names));
}

}  // namespace sheaf
