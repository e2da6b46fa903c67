// Modules: their declarations, their parameters, their bodies.
#include "frontend/expand.h"
#include "frontend/declarations.h"
#include "frontend/names.h"
#include "runtime/base/suggest.h"

#include <algorithm>

namespace sheaf::frontend {
namespace {

using NodeKind = LocatedNode::Kind;

// Fields of a layer that uses a module: a parameter of that name could never be given.
const std::vector<std::string>& taken_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = layer_fields();
    all.insert(all.end(), {"outputs", "output", "layers", "module"});
    return all;
  }();
  return names;
}

}  // namespace

Expander::Expander(const LocatedNode* modules, Problems& problems) : problems_(problems) {
  if (!modules) return;
  if (modules->kind != NodeKind::object) {
    refuse({modules, nullptr, {}, {}}, "'modules'", "an object: name → module", problems_);
    return;
  }
  for (const LocatedMember& member : modules->members) check_module(member.key, member);
}

void Expander::check_module(const std::string& name, const LocatedMember& entry) {
  check_name(name, "module", entry.place, problems_);
  std::vector<std::string> layers = known_type_names();
  if (std::ranges::find(layers, name) != layers.end()) {
    problems_.add(entry.place, "the module name '" + name + "' is a layer type's");
    return;
  }
  const LocatedNode& node = entry.value;
  std::string owner = "module '" + name + "'";
  if (node.kind != NodeKind::object) {
    refuse({&node, nullptr, {}, {}}, owner, "an object", problems_);
    complete_ = false;
    return;
  }
  check_fields(node, {"params", "inputs", "outputs", "layers"}, owner, problems_);
  Module module{&node, {}};
  if (const LocatedMember* params = node.find("params")) {
    if (params->value.kind != NodeKind::object) {
      refuse({&params->value, nullptr, {}, {}}, "'params' of " + owner, "an object: name → default, null = required",
             problems_);
    }
    if (params->value.members.size() > most_parameters) {
      problems_.add(params->place, owner + " has more than " + std::to_string(most_parameters) + " parameters");
      complete_ = false;
      return;
    }
    for (const LocatedMember& param : params->value.members) {
      check_name(param.key, "parameter", param.place, problems_);
      if (std::ranges::find(taken_names(), param.key) == taken_names().end()) continue;
      problems_.add(param.place, "a parameter cannot be named '" + param.key + "': that is a field of every layer");
    }
  }
  const LocatedMember* inputs = node.find("inputs");
  if (!inputs) module.inputs = {"input"};
  if (inputs && (inputs->value.kind != NodeKind::array || inputs->value.items.empty())) {
    refuse({&inputs->value, nullptr, {}, {}}, "'inputs' of " + owner, "a list of at least one name", problems_);
    module.inputs = {"input"};
  } else if (inputs && inputs->value.items.size() > most_declarations) {
    problems_.add(inputs->place, owner + " has more than " + std::to_string(most_declarations) + " inputs");
    module.inputs = {"input"};
  } else if (inputs) {
    for (const LocatedNode& item : inputs->value.items) {
      if (item.kind != NodeKind::string) {
        refuse({&item, nullptr, {}, {}}, "an input of " + owner, "a name", problems_);
        continue;
      }
      check_name(item.string, "input", item.place, problems_);
      if (std::ranges::find(module.inputs, item.string) != module.inputs.end()) {
        problems_.add(item.place, "the input '" + item.string + "' appears twice");
      }
      module.inputs.push_back(item.string);
    }
  }
  const LocatedMember* list = node.find("layers");
  if (!list) problems_.add(node.place, owner + " needs 'layers'");
  if (list && (list->value.kind != NodeKind::array || list->value.items.empty())) {
    refuse({&list->value, nullptr, {}, {}}, "'layers' of " + owner, "a list of at least one layer", problems_);
  }
  modules_.emplace(name, std::move(module));
  module_order_.push_back(name);
}

Scope Expander::bind_parameters(const std::string& name, const Module& module, const JsonValue* call,
                                const std::string& owner) {
  Scope scope{name, {}};
  const LocatedMember* params = module.node->find("params");
  std::vector<std::string> names;
  static const std::vector<LocatedMember> none;
  problems_.spend(params ? params->value.members.size() : 0, module.node->place);
  for (const LocatedMember& param : params ? params->value.members : none) {
    names.push_back(param.key);
    bool required = param.value.kind == NodeKind::null;
    if (const LocatedMember* given = call ? call->node->find(param.key) : nullptr) {
      scope.parameters[param.key] = resolve(given->value, call->scope, problems_);
    } else if (required) {
      scope.parameters[param.key] = JsonValue{nullptr, nullptr, param.place, {}};
      if (call)
        problems_.add(call->place(), owner + " needs the parameter '" + param.key + "'",
                      {"it is declared at " + problems_.text_of(param.place)});
      complete_ = complete_ && !call;
    } else {
      scope.parameters[param.key] = JsonValue{&param.value, nullptr, param.place, {}};
    }
  }
  for (const LocatedMember& entry : call ? call->node->members : none) {
    bool field = std::ranges::find(layer_fields(), entry.key) != layer_fields().end();
    if (field || std::ranges::find(names, entry.key) != names.end()) continue;
    problems_.add(entry.place, "module '" + name + "' has no parameter '" + entry.key + "'" +
                                   (problems_.full() ? "" : suggestion(entry.key, names)));
  }
  return scope;
}

Graph Expander::expand_body(const std::string& name, Module& module, const Scope& scope, const Surroundings& inside) {
  module.used = true;
  module.open = true;
  JsonValue object{module.node, &scope, {}, {}};
  Building building;
  building.graph.inputs = module.inputs;
  Graph graph =
      expand_graph(std::move(building), member(object, "layers", problems_), member(object, "outputs", problems_), inside);
  module.open = false;
  return graph;
}

int Expander::expand_module(Layer& layer, Module& module, const JsonValue& value, bool inputs_known, Surroundings inside) {
  if (module.open) {
    const LocatedMember* type = value.node->find("type");
    problems_.add(type ? type->value.place : value.place(),
                  "module '" + layer.type + "' contains itself: a graph of layers cannot recurse");
    complete_ = false;
    return any_number;
  }
  int inputs = static_cast<int>(module.inputs.size());
  if (inputs_known) check_arity(layer, inputs, inputs, 1, value.place());
  Scope scope = bind_parameters(layer.type, module, &value, layer.type + " '" + layer.name + "'");
  layer.body = std::make_unique<Graph>(expand_body(layer.type, module, scope, inside));
  if (layer.body->outputs.empty()) complete_ = false;
  return layer.body->outputs.empty() ? any_number : static_cast<int>(layer.body->outputs.size());
}

void Expander::check_unused_modules() {
  bool complete = complete_;
  discarding_ = true;
  for (const std::string& name : module_order_) {
    Module& module = modules_.at(name);
    if (module.used) continue;
    Scope scope = bind_parameters(name, module, nullptr, "module '" + name + "'");
    Surroundings inside;
    inside.path = name;
    expand_body(name, module, scope, inside);
  }
  discarding_ = false;
  complete_ = complete;
}

}  // namespace sheaf::frontend
