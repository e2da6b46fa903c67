// Expands a layer according to its type: a leaf of the table, Sequential, DataParallel, or a module.
#include "frontend/declarations.h"
#include "frontend/device.h"
#include "frontend/expand.h"
#include "frontend/names.h"
#include "frontend/refused_types.h"
#include "runtime/base/suggest.h"

namespace sheaf::frontend {
namespace {

using NodeKind = LocatedNode::Kind;

// More elements than any machine has memory for; sums and byte counts below it cannot overflow.

std::vector<std::string> fields_and(std::vector<std::string> extra) {
  std::vector<std::string> fields = layer_fields();
  fields.insert(fields.end(), extra.begin(), extra.end());
  return fields;
}

std::string counted(int count, const std::string& noun) { return std::to_string(count) + " " + noun + (count == 1 ? "" : "s"); }

std::string arity_phrase(int least, int most, int step) {
  if (most == any_number) return "at least " + counted(least, "input");
  if (least == most) return counted(least, "input");
  return std::to_string(least) + (step == 1 && most > least + 1 ? " to " : " or ") + counted(most, "input");
}

/// JSON that no file contains, located at one place.
LocatedNode located(const Json& json, TextPlace place) {
  LocatedNode node;
  node.place = place;
  if (json.is_boolean()) {
    node.kind = NodeKind::boolean;
    node.boolean = json.get<bool>();
  } else if (json.is_number()) {
    node.kind = json.is_number_integer() ? NodeKind::integer : NodeKind::number;
    node.integer = json.is_number_integer() ? json.get<int64_t>() : 0;
    node.number = json.get<double>();
    node.string = json.dump();
  } else if (json.is_string()) {
    node.kind = NodeKind::string;
    node.string = json.get<std::string>();
  } else if (json.is_array()) {
    node.kind = NodeKind::array;
    for (const Json& item : json) node.items.push_back(located(item, place));
  } else if (json.is_object()) {
    node.kind = NodeKind::object;
    for (const auto& [key, value] : json.items()) node.members.push_back({key, place, located(value, place)});
  }
  return node;
}

}  // namespace

int Expander::expand_type(Layer& layer, const JsonValue& value, bool inputs_known, const Surroundings& around,
                          const std::optional<DeviceRef>& own_device) {
  JsonValue type = member(value, "type", problems_);
  if (!type.is(NodeKind::string)) {
    if (absent(type)) {
      problems_.add(value.place(), "layer '" + layer.name + "' needs a 'type' (PyTorch's class name, or a module's)");
    } else if (type.known()) {
      refuse(type, "'type' of layer '" + layer.name + "'", "a string", problems_);
    }
    complete_ = false;
    return any_number;
  }
  layer.type = type.node->string;
  Surroundings inside = around;
  inside.path = layer.path;
  inside.device = layer.device;
  inside.trainable = layer.trainable;
  if (++inside.depth > deepest) {
    problems_.add(value.place(), "layers are nested more than " + std::to_string(deepest) + " deep");
    complete_ = false;
    return any_number;
  }
  auto module = modules_.find(layer.type);
  const LayerType* leaf = find_layer_type(layer.type);
  if (value.node->find("share")) read_share(layer, leaf, value);
  if (layer.type == "Sequential") return expand_sequential(layer, value, inputs_known, inside);
  if (layer.type == "DataParallel") return expand_parallel(layer, value, inputs_known, inside, own_device);
  if (module != modules_.end()) return expand_module(layer, module->second, value, inputs_known, inside);
  if (leaf) return expand_leaf(layer, *leaf, value, inputs_known, inside);
  std::vector<std::string> known;
  if (!problems_.full()) {
    known = known_type_names();
    known.insert(known.end(), module_order_.begin(), module_order_.end());
  }
  if (auto why = why_refused(layer.type)) problems_.add(type.place(), layer.type + " " + *why, type.notes(problems_));
  else
    problems_.add(type.place(), "unknown layer type '" + layer.type + "'" + suggestion(layer.type, known),
                  type.notes(problems_));
  complete_ = false;
  return any_number;
}

int Expander::expand_leaf(Layer& layer, const LayerType& type, const JsonValue& value, bool inputs_known, Surroundings inside) {
  std::string owner = type.name + " '" + layer.name + "'";
  CheckedArguments checked = check_arguments(type.arguments, type.spatial_rank, value, layer_fields(), owner, problems_);
  for (const auto& [name, place] : checked.places) layer.argument_locations[name] = problems_.locate(place);
  layer.arguments = std::move(checked.values);
  bool arity = !inputs_known || check_arity(layer, type.least_inputs, type.most_inputs, type.inputs_step, value.place());
  if (!checked.complete) {
    complete_ = false;
    return type.outputs;
  }
  layer.xavier = inside.xavier;
  bool valid = true;
  auto refuse_argument = [&](const std::string& argument, std::string message) {
    valid = false;
    auto place = checked.places.find(argument);
    problems_.add(place == checked.places.end() ? value.place() : place->second,
                  "'" + argument + "' of " + owner + " " + message);
    complete_ = false;
  };
  std::function<void(const std::string&, std::string)> refuse = refuse_argument;
  LayerCheck check(layer.arguments, inputs_known && arity ? static_cast<int>(layer.inputs.size()) : any_number, refuse);
  if (type.check) type.check(check);
  if (type.composed) return valid && arity ? expand_composed(layer, type, value, std::move(inside)) : type.outputs;
  const int outputs = outputs_of(type, layer.arguments);
  if (!type.parameters || !complete_) return outputs;
  double elements = 0;
  auto parameters = type.parameters(layer.arguments);
  if (!problems_.spend(parameters.size(), value.place())) complete_ = false;
  for (const LayerParameter& parameter : parameters) {
    double product = 1;
    for (int64_t size : parameter.shape) product *= static_cast<double>(size);
    elements += product;
  }
  if (elements > most_elements) {
    problems_.add(value.place(), owner + " has more than 10^15 parameters");
    complete_ = false;
  }
  return outputs;
}

/// The layers are placed where the composed layer is, for messages too.
int Expander::expand_composed(Layer& layer, const LayerType& type, const JsonValue& value, Surroundings inside) {
  const LocatedNode body = located(type.composed(layer.arguments), value.place());
  const JsonValue module{&body, nullptr, {}, {}};
  Building building;
  for (const LocatedNode& input : body.find("inputs")->value.items) building.graph.inputs.push_back(input.string);
  inside.xavier |= type.xavier;
  layer.body = std::make_unique<Graph>(expand_graph(std::move(building), member(module, "layers", problems_), {}, inside));
  if (layer.body->outputs.empty()) complete_ = false;
  return type.outputs;
}

int Expander::expand_sequential(Layer& layer, const JsonValue& value, bool inputs_known, Surroundings inside) {
  check_fields(*value.node, fields_and({"layers"}), "Sequential '" + layer.name + "'", problems_);
  if (inputs_known) check_arity(layer, 1, 1, 1, value.place());
  JsonValue layers = member(value, "layers", problems_);
  if (absent(layers)) {
    problems_.add(value.place(), "Sequential '" + layer.name + "' needs 'layers'");
  } else if (layers.known() && (!layers.is(NodeKind::array) || layers.node->items.empty())) {
    refuse(layers, "'layers' of Sequential '" + layer.name + "'", "a list of at least one layer", problems_);
  }
  Building building;
  building.graph.inputs = {"input"};
  layer.body = std::make_unique<Graph>(expand_graph(std::move(building), layers, {}, inside));
  if (layer.body->outputs.empty()) complete_ = false;
  return layer.body->outputs.empty() ? any_number : 1;
}

int Expander::expand_parallel(Layer& layer, const JsonValue& value, bool inputs_known, Surroundings inside,
                              const std::optional<DeviceRef>& own_device) {
  std::string owner = "DataParallel '" + layer.name + "'";
  CheckedArguments checked = check_arguments(data_parallel_arguments(), 0, value, fields_and({"module"}), owner, problems_);
  for (const auto& [name, place] : checked.places) layer.argument_locations[name] = problems_.locate(place);
  layer.arguments = std::move(checked.values);
  layer.device = own_device;  // a region runs on its devices: no container's default moves it
  if (inside.region) {
    problems_.add(value.place(),
                  "a DataParallel is inside DataParallel '" + inside.region->name +
                      "': a replica has one device, so there is nothing to split over",
                  {"the outer one is at " + problems_.text_of(inside.region->place)});
    complete_ = false;
  }
  Region region{layer.name, value.place(), {}};
  if (const Json ids = layer.arguments.value("device_ids", Json()); ids.is_array() && !ids.empty()) {
    region.first.index = ids[0].get<int>();
  }
  if (own_device && checked.complete && !inside.region) {
    check_device(layer, own_device, region, member(value, "device", problems_).place());
  }
  JsonValue module = member(value, "module", problems_);
  if (!module.is(NodeKind::object)) {
    if (absent(module)) problems_.add(value.place(), owner + " needs a 'module' (one layer or module)");
    if (module.known()) refuse(module, "'module' of " + owner, "one layer or module (an object)", problems_);
    complete_ = false;
    return any_number;
  }
  if (const LocatedMember* inputs = module.node->find("inputs")) {
    problems_.add(inputs->place, "what DataParallel wraps gets the DataParallel's own inputs: move 'inputs' there");
  }
  Building building;
  building.inputs_known = inputs_known;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    building.graph.inputs.push_back(layer.inputs.size() == 1 ? "input" : "input" + std::to_string(i));
  }
  inside.region = &region;
  inside.device = std::nullopt;  // a region's layers are where its replicas are
  static const std::string wrapped_name = "module";
  expand_layer(building, module, 0, inside, &wrapped_name);
  if (building.outputs.empty()) return any_number;
  const int count = building.outputs[0];
  name_outputs_of_wrapped(building.graph, count == any_number ? 1 : count);
  layer.body = std::make_unique<Graph>(std::move(building.graph));
  return count;
}

void Expander::check_device(const Layer& layer, const std::optional<DeviceRef>& own, const Region& region, TextPlace place) {
  if (own->host == region.first.host && own->index == region.first.index) return;
  std::string what = layer.type == "DataParallel" ? "it" : "DataParallel '" + region.name + "' around it";
  problems_.add(place,
                "layer '" + layer.name + "' is placed on '" + name_of(*own) + "', but " + what + " keeps its parameters on '" +
                    name_of(region.first) + "', the first of its devices",
                {"remove 'device' here, or take the layer out of the DataParallel (" + problems_.text_of(region.place) + ")"});
  complete_ = false;
}

bool Expander::check_arity(const Layer& layer, int least, int most, int step, TextPlace place) {
  int count = static_cast<int>(layer.inputs.size());
  if (count >= least && count <= most && (count - least) % step == 0) return true;
  problems_.add(
      place,
      layer.type + " '" + layer.name + "' takes " + arity_phrase(least, most, step) + ", but has " + std::to_string(count),
      {"without \"inputs\", a layer gets the previous layer's output, and the first layer all inputs"});
  complete_ = false;
  return false;
}

void Expander::read_share(const Layer& layer, const LayerType* leaf, const JsonValue& value) {
  JsonValue share = member(value, "share", problems_);
  if (!share.known()) return;
  if (share.is(NodeKind::string)) {
    if (!discarding_) shares_.push_back({layer.path, std::nullopt, share.place(), share.node->string, share.place()});
    return;
  }
  if (!share.is(NodeKind::object)) {
    refuse(share, "'share' of layer '" + layer.name + "'",
           "the full name of a layer, or an object: own parameter → full name of another", problems_);
    return;
  }
  if (!leaf) {
    problems_.add(share.place(), "parameters are shared one by one on the layer that has them; " + layer.type +
                                     " has none of its own: give the full name of another " + layer.type);
    return;
  }
  const LayerType& type = *leaf;
  for (const LocatedMember& entry : share.node->members) {
    if (!may_have_parameter(type, entry.key)) {
      problems_.add(entry.place, type.name + " has no parameter '" + entry.key + "'" +
                                     (type.parameters ? suggestion(entry.key, {"weight", "bias"}) : ""));
      complete_ = false;
      continue;
    }
    JsonValue target = resolve(entry.value, share.scope, problems_);
    if (target.known() && !target.is(NodeKind::string)) {
      refuse(target, "what '" + entry.key + "' is shared with", "a parameter's full name", problems_);
    } else if (target.known() && !discarding_) {
      shares_.push_back({layer.path, entry.key, entry.place, target.node->string, target.place()});
    }
  }
}

}  // namespace sheaf::frontend
