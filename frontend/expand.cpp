// Graphs and layers; expand_types.cpp has types, expand_modules.cpp modules.
#include "frontend/expand.h"

#include "frontend/device.h"
#include "frontend/names.h"
#include "runtime/base/suggest.h"

namespace sheaf::frontend {
namespace {

using NodeKind = LocatedNode::Kind;

std::string joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }

// "lstm:1" → {"lstm", 1}; the number is empty if there is no ':' or if no small number follows it.
std::pair<std::string, std::optional<int>> split_output(const std::string& name) {
  size_t colon = name.find(':');
  if (colon == std::string::npos) return {name, 0};
  std::string digits = name.substr(colon + 1);
  bool number = !digits.empty() && digits.size() <= 6 && digits.find_first_not_of("0123456789") == std::string::npos;
  return {name.substr(0, colon), number ? std::optional<int>(std::stoi(digits)) : std::nullopt};
}

}  // namespace

Graph Expander::expand_model(const LocatedNode& root, const std::vector<std::string>& inputs) {
  Building building;
  building.graph.inputs = inputs;
  building.inputs_known = !inputs.empty();
  JsonValue object{&root, nullptr, {}, {}};
  JsonValue layers = member(object, "layers", problems_), outputs = member(object, "outputs", problems_);
  Graph graph = expand_graph(std::move(building), layers, outputs, {});
  std::set<std::string> seen;
  for (size_t i = 0; i < graph.output_names.size(); ++i) {
    if (seen.insert(graph.output_names[i]).second || !outputs.is(NodeKind::array)) continue;
    problems_.add(outputs.node->items[i].place, "'" + graph.output_names[i] + "' appears twice in the model's outputs");
  }
  return graph;
}

void name_outputs_of_wrapped(Graph& body, int count) {
  for (int i = static_cast<int>(body.outputs.size()); i < count; ++i) {
    body.outputs.push_back({0, i});
    body.output_names.push_back(i == 0 ? body.layers[0].name : body.layers[0].name + ":" + std::to_string(i));
  }
  body.layers[0].values = std::max(body.layers[0].values, count);
}

namespace {

void count_values(Graph& graph) {
  auto count = [&](const ValueRef& ref) {
    if (ref.layer < 0) return;
    Layer& layer = graph.layers[static_cast<size_t>(ref.layer)];
    layer.values = std::max(layer.values, ref.output + 1);
    // If the wrapped layer's arguments don't give its number of results, it has as many as are used of the whole.
    if (layer.type == "DataParallel" && layer.body) name_outputs_of_wrapped(*layer.body, layer.values);
  };
  for (const Layer& layer : graph.layers) std::ranges::for_each(layer.inputs, count);
  std::ranges::for_each(graph.outputs, count);
}

}  // namespace

Graph Expander::expand_graph(Building building, const JsonValue& layers, const JsonValue& outputs, const Surroundings& around) {
  Graph& graph = building.graph;
  auto list = items(layers, problems_);
  for (size_t i = 0; i < list.size(); ++i) {
    JsonValue name = list[i].is(NodeKind::object) ? member(list[i], "name", problems_) : JsonValue{};
    if (name.is(NodeKind::string)) building.all_names.emplace(name.node->string, list[i].place());
    if (absent(name)) building.all_names.emplace(std::to_string(i), list[i].place());
  }
  for (size_t i = 0; i < list.size() && layers_ <= most_layers; ++i) {
    expand_layer(building, list[i], i, around, nullptr);
  }
  if (!outputs.is(NodeKind::array) || outputs.node->items.empty()) {
    if (outputs.known() && !outputs.is(NodeKind::array)) refuse(outputs, "'outputs'", "a list of value names", problems_);
    if (graph.layers.empty()) return std::move(graph);
    graph.outputs = {{static_cast<int>(graph.layers.size()) - 1, 0}};
    graph.output_names = {graph.layers.back().name};
    count_values(graph);
    return std::move(graph);
  }
  for (const JsonValue& name : items(outputs, problems_)) {
    auto found = value_named(building, name, "'outputs'");
    graph.outputs.push_back(found.value_or(ValueRef{}));
    graph.output_names.push_back(name.is(NodeKind::string) ? name.node->string : "");
    if (!found) complete_ = false;
  }
  count_values(graph);
  return std::move(graph);
}

void Expander::expand_layer(Building& building, const JsonValue& value, size_t position, const Surroundings& around,
                            const std::string* forced_name) {
  if (!problems_.spend(1 + building.graph.inputs.size(), value.place())) {
    complete_ = false;
    return;
  }
  if (++layers_ > most_layers) {
    problems_.add(value.place(), "the modules expand to more than " + std::to_string(most_layers) + " layers");
    complete_ = false;
    return;
  }
  Layer layer;
  layer.location = problems_.locate(value.place());
  int outputs = any_number;
  if (!value.is(NodeKind::object)) {
    if (value.known()) refuse(value, "a layer", "an object", problems_);
    layer.name = std::to_string(position);
    complete_ = false;
  } else {
    layer.name = forced_name ? *forced_name : read_name(building, value, position);
    layer.path = joined(around.path, layer.name);
    bool inputs_known = building.inputs_known;
    JsonValue names = forced_name ? JsonValue{} : member(value, "inputs", problems_);
    const JsonValue type = member(value, "type", problems_);
    const LayerType* leaf = type.is(NodeKind::string) ? find_layer_type(type.node->string) : nullptr;
    // A layer without inputs has none by default either.
    const bool none_named = absent(names) || (names.is(NodeKind::array) && names.node->items.empty());
    if (leaf && leaf->most_inputs == 0 && none_named) inputs_known = true;
    else layer.inputs = read_inputs(building, names, "layer '" + layer.name + "'", inputs_known);
    JsonValue device = member(value, "device", problems_);
    auto own = absent(device) ? std::nullopt : read_device(device, problems_);
    if (own && around.region) check_device(layer, own, *around.region, device.place());
    layer.device = own && !around.region ? own : around.device;
    JsonValue trainable = member(value, "trainable", problems_);
    if (trainable.known() && !trainable.is(NodeKind::boolean))
      refuse(trainable, "'trainable' of layer '" + layer.name + "'", "true or false", problems_);
    layer.trainable = around.trainable && !(trainable.is(NodeKind::boolean) && !trainable.node->boolean);
    JsonValue checkpoint = member(value, "checkpoint", problems_);
    if (checkpoint.known() && !checkpoint.is(NodeKind::boolean))
      refuse(checkpoint, "'checkpoint' of layer '" + layer.name + "'", "true or false", problems_);
    layer.checkpoint = checkpoint.is(NodeKind::boolean) && checkpoint.node->boolean;
    outputs = expand_type(layer, value, inputs_known, around, own);
  }
  building.layer_of.emplace(layer.name, static_cast<int>(building.graph.layers.size()));
  building.places.push_back(value.place());
  building.outputs.push_back(outputs);
  building.graph.layers.push_back(std::move(layer));
}

std::string Expander::read_name(const Building& building, const JsonValue& value, size_t position) {
  JsonValue name = member(value, "name", problems_);
  std::string text = std::to_string(position);
  if (name.known() && !name.is(NodeKind::string)) refuse(name, "a layer's name", "a string", problems_);
  if (name.is(NodeKind::string)) text = name.node->string;
  if (name.is(NodeKind::string)) check_layer_name(text, name.place(), problems_);
  TextPlace place = absent(name) ? value.place() : name.place();
  if (auto first = building.layer_of.find(text); first != building.layer_of.end()) {
    problems_.add(place,
                  "the layer name '" + text + "' appears twice" +
                      (absent(name) ? " (a layer without a name is named by its position)" : ""),
                  {"the first is at " + problems_.text_of(building.places[first->second])});
  }
  for (const std::string& input : building.graph.inputs) {
    if (input == text) problems_.add(place, "the layer name '" + text + "' is the name of an input here");
  }
  return text;
}

std::vector<ValueRef> Expander::read_inputs(Building& building, const JsonValue& names, const std::string& owner, bool& known) {
  std::vector<ValueRef> inputs;
  if (names.is(NodeKind::array) && !names.node->items.empty()) {
    known = true;
    for (const JsonValue& name : items(names, problems_)) {
      auto found = value_named(building, name, "an input of " + owner);
      inputs.push_back(found.value_or(ValueRef{}));
    }
    return inputs;
  }
  if (names.known() && !names.is(NodeKind::array)) {
    refuse(names, "'inputs' of " + owner, "a list of value names", problems_);
    known = false;
  } else if (!names.known() && !absent(names)) {
    known = false;
  } else if (!building.graph.layers.empty()) {
    known = true;
    inputs.push_back({static_cast<int>(building.graph.layers.size()) - 1, 0});
  } else {
    for (size_t i = 0; i < building.graph.inputs.size(); ++i) inputs.push_back({-1, static_cast<int>(i)});
  }
  return inputs;
}

std::optional<ValueRef> Expander::value_named(const Building& building, const JsonValue& name, const std::string& owner) {
  if (!name.known()) return std::nullopt;
  if (!name.is(NodeKind::string)) {
    refuse(name, owner, "the name of a value", problems_);
    return std::nullopt;
  }
  const std::string& text = name.node->string;
  const Graph& graph = building.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i] == text) return ValueRef{-1, static_cast<int>(i)};
  }
  auto [base, output] = split_output(text);
  auto layer = building.layer_of.find(base);
  if (layer != building.layer_of.end()) {
    const bool told = building.outputs[layer->second] != any_number;
    const int count = told ? building.outputs[layer->second] : most_outputs;
    if (output && *output < count) return ValueRef{layer->second, *output};
    const std::string last = (told ? "" : "at most ") + (count == 1 ? "one output, '" + base + "'"
                                                                    : std::to_string(count) + " outputs, '" + base + "' to '" +
                                                                          base + ":" + std::to_string(count - 1) + "'");
    problems_.add(name.place(), "there is no value '" + text + "': layer '" + base + "' has " + last, name.notes(problems_));
    return std::nullopt;
  }
  if (auto later = building.all_names.find(base); later != building.all_names.end()) {
    problems_.add(name.place(), "the value '" + text + "' is used before the layer that makes it",
                  {"that layer is at " + problems_.text_of(later->second) + "; layers run in the order of the file"});
    return std::nullopt;
  }
  std::vector<std::string> known;
  if (!problems_.full()) {
    known = graph.inputs;
    for (const Layer& earlier : graph.layers) known.push_back(earlier.name);
  }
  problems_.add(name.place(), "there is no value '" + text + "'" + suggestion(text, known), name.notes(problems_));
  return std::nullopt;
}

}  // namespace sheaf::frontend
