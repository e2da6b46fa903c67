#include "frontend/full_names.h"

#include "frontend/layer_table.h"

#include <map>

namespace sheaf::frontend {
namespace {

struct NamesFound {
  std::map<std::string, const Layer*> layers, parameters;
};

void insert_name(std::map<std::string, const Layer*>& found, const std::string& name, const Layer& layer, const char* what,
                 Problems& problems) {
  auto [first, is_new] = found.emplace(name, &layer);
  if (is_new) return;
  const Location& place = first->second->location;
  problems.add({layer.location.line, layer.location.column}, std::string("two ") + what + " have the full name '" + name + "'",
               {"the first is at " + place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column)});
}

void collect_names(const Graph& graph, NamesFound& found, Problems& problems) {
  for (const Layer& layer : graph.layers) {
    insert_name(found.layers, layer.path, layer, "layers", problems);
    if (layer.body) collect_names(*layer.body, found, problems);
    const LayerType* type = layer.body ? nullptr : find_layer_type(layer.type);
    if (!type || !type->parameters) continue;
    for (const LayerParameter& parameter : type->parameters(layer.arguments)) {
      insert_name(found.parameters, full_parameter_name(layer.path, parameter.name), layer, "parameters", problems);
    }
  }
}

}  // namespace

void check_full_names(const Graph& graph, Problems& problems) {
  NamesFound found;
  collect_names(graph, found, problems);
}

}  // namespace sheaf::frontend
