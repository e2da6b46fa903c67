#include "frontend/share.h"

#include "runtime/base/parameter_names.h"
#include "runtime/base/suggest.h"

namespace sheaf::frontend {
namespace {

void collect(Graph& graph, std::map<std::string, OwnedParameter>& found) {
  for (Layer& layer : graph.layers) {
    if (layer.body) collect(*layer.body, found);
    const LayerType* type = layer.body ? nullptr : find_layer_type(layer.type);
    if (!type || !type->parameters) continue;
    for (LayerParameter& parameter : type->parameters(layer.arguments)) {
      found[full_parameter_name(layer.path, parameter.name)] = {&layer, parameter.name, std::move(parameter.shape)};
    }
  }
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t size : shape) text += (text.empty() ? "[" : ", ") + std::to_string(size);
  return text + "]";
}

/// The single-parameter entries that tie all of a layer's parameters to another layer's. Constants keep their own numbers.
std::vector<ShareEntry> taken_apart(const ShareEntry& whole, const std::map<std::string, OwnedParameter>& parameters,
                                    Problems& problems) {
  std::vector<ShareEntry> entries;
  auto begins = [](const std::string& name, const std::string& path) {
    return name.starts_with(path) && (name.size() == path.size() || name[path.size()] == '.');
  };
  bool known = false;
  for (auto at = parameters.lower_bound(whole.layer_path); at != parameters.end() && at->first.starts_with(whole.layer_path);
       ++at) {
    const auto& [name, parameter] = *at;
    if (!begins(name, whole.layer_path) || parameter.layer->type == "Constant") continue;
    known = true;
    std::string target = whole.target + name.substr(whole.layer_path.size());
    entries.push_back({parameter.layer->path, parameter.own_name, whole.own_place, std::move(target), whole.target_place});
  }
  if (!known) problems.add(whole.own_place, "layer '" + whole.layer_path + "' has no parameters to share");
  return entries;
}

}  // namespace

std::map<std::string, OwnedParameter> parameters_of(Graph& graph) {
  std::map<std::string, OwnedParameter> found;
  collect(graph, found);
  return found;
}

void tie_parameters(Graph& graph, const std::vector<ShareEntry>& written, Problems& problems) {
  if (written.empty()) return;
  auto parameters = parameters_of(graph);
  std::vector<ShareEntry> entries;
  for (const ShareEntry& entry : written) {
    if (entry.own) entries.push_back(entry);
    else
      for (ShareEntry& one : taken_apart(entry, parameters, problems)) entries.push_back(std::move(one));
  }
  std::map<std::string, std::string> by_short_name;
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) {
    by_short_name.emplace(without_module(name), name);
    names.push_back(name);
  }
  std::map<std::string, std::string> tied;  // full name → full name
  for (const ShareEntry& entry : entries) {
    std::string own = full_parameter_name(entry.layer_path, *entry.own);
    auto mine = parameters.find(own);
    if (mine == parameters.end()) {
      std::vector<std::string> own_names;
      for (const auto& [name, parameter] : parameters) {
        if (problems.full()) break;
        if (parameter.layer->path == entry.layer_path) own_names.push_back(parameter.own_name);
      }
      problems.add(entry.own_place, "layer '" + entry.layer_path + "' has no parameter '" + *entry.own + "'" +
                                        suggestion(*entry.own, own_names));
      continue;
    }
    std::string target = entry.target;
    if (!parameters.contains(target)) {
      auto full = by_short_name.find(without_module(target));
      if (full == by_short_name.end()) {
        problems.add(entry.target_place, "the model has no parameter '" + target + "'" +
                                             suggestion(target, problems.full() ? std::vector<std::string>{} : names));
        continue;
      }
      target = full->second;
    }
    if (parameters[target].shape != mine->second.shape) {
      problems.add(entry.target_place, "'" + own + "' " + shape_text(mine->second.shape) + " cannot share '" + target + "' " +
                                           shape_text(parameters[target].shape) + ": the shapes differ");
      continue;
    }
    std::string end = target;
    while (end != own && tied.contains(end)) end = tied[end];
    if (end == own) {
      problems.add(entry.target_place, "'" + own + "' would share itself: nothing would own the parameter");
      continue;
    }
    tied[own] = target;
  }
  for (const auto& [own, target] : tied) {
    std::string end = target;
    while (tied.contains(end)) end = tied[end];
    OwnedParameter& parameter = parameters[own];
    parameter.layer->share[parameter.own_name] = end;
  }
}

}  // namespace sheaf::frontend
