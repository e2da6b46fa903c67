#include "frontend/value.h"

#include "runtime/base/suggest.h"

namespace sheaf::frontend {

std::vector<std::string> JsonValue::notes(const Problems& problems) const {
  if (parameter.empty() || !node) return {};
  return {"it is used as '" + parameter + "' at " + problems.text_of(use)};
}

JsonValue resolve(const LocatedNode& node, const Scope* scope, Problems& problems) {
  if (node.kind != LocatedNode::Kind::string || !node.string.starts_with('$')) return {&node, scope, node.place, {}};
  JsonValue unknown{nullptr, nullptr, node.place, node.string};
  if (!scope) {
    problems.add(node.place, "'" + node.string + "' is outside a module: only a module has parameters");
    return unknown;
  }
  auto found = scope->parameters.find(node.string.substr(1));
  if (found == scope->parameters.end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : scope->parameters) names.push_back("$" + name);
    problems.add(
        node.place,
        "module '" + scope->module + "' has no parameter '" + node.string.substr(1) + "'" + suggestion(node.string, names),
        names.empty() ? std::vector<std::string>{"parameters are declared in the module's \"params\""}
                      : std::vector<std::string>{});
    return unknown;
  }
  JsonValue value = found->second;
  value.use = node.place;
  value.parameter = node.string;
  return value;
}

JsonValue member(const JsonValue& object, const std::string& key, Problems& problems) {
  const LocatedMember* found = object.node ? object.node->find(key) : nullptr;
  if (!found) return {};
  return resolve(found->value, object.scope, problems);
}

std::vector<JsonValue> items(const JsonValue& array, Problems& problems) {
  std::vector<JsonValue> values;
  if (!array.node || !problems.spend(array.node->items.size(), array.place())) return values;
  for (const LocatedNode& node : array.node->items) values.push_back(resolve(node, array.scope, problems));
  return values;
}

void refuse(const JsonValue& value, const std::string& what, const std::string& expected, Problems& problems,
            const std::string& mend) {
  std::vector<std::string> notes = value.notes(problems);
  if (!mend.empty()) notes.push_back(mend);
  problems.add(value.place(), what + " must be " + expected + ", found " + describe(*value.node), std::move(notes));
}

}  // namespace sheaf::frontend
