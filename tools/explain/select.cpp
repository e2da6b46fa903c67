#include "tools/explain/select.h"

#include "runtime/base/parameter_names.h"
#include "runtime/base/suggest.h"

#include <algorithm>
#include <functional>

namespace sheaf {
Result<std::set<std::string>> select_layers(const std::vector<std::string>& known, const std::string& pattern) {
  const std::string bare = without_module(pattern);
  const std::function<bool(const std::string&)> rules[] = {
      [&](const std::string& layer) { return layer == pattern; },
      [&](const std::string& layer) { return layer.starts_with(pattern + "."); },
      [&](const std::string& layer) { return without_module(layer) == bare; },
      [&](const std::string& layer) { return without_module(layer).starts_with(bare + "."); },
      [&](const std::string& layer) { return without_module(layer).ends_with("." + bare); },
  };
  for (const auto& rule : rules) {
    std::set<std::string> found;
    for (const std::string& layer : known)
      if (!layer.empty() && rule(layer)) found.insert(layer);
    if (!found.empty()) return found;
  }
  std::vector<std::string> names = known;
  for (const std::string& layer : known) {
    names.push_back(without_module(layer));
    names.push_back(layer.substr(layer.rfind('.') + 1));
  }
  std::erase(names, "");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return Error("the model has no layer '" + pattern + "'" + suggestion(pattern, names));
}

Result<std::string> select_name(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  std::vector<std::string> names = known;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return Error("nothing here has the " + what + " '" + name + "'" + suggestion(name, names));
}

}  // namespace sheaf
