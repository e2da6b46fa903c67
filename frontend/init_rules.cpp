#include "frontend/init_rules.h"

#include "frontend/layer_table.h"
#include "frontend/share.h"
#include "frontend/signatures.h"
#include "runtime/base/suggest.h"

#include <algorithm>

namespace sheaf::frontend {
namespace {

using NodeKind = LocatedNode::Kind;

std::vector<std::string> types_with_parameters() {
  std::vector<std::string> names;
  for (const LayerType& row : layer_types()) {
    if (!row.parameter_names.empty()) names.push_back(row.name);
  }
  return names;
}

void read_types(const LocatedNode& node, InitRule& rule, Problems& problems) {
  if (node.kind != NodeKind::array || node.items.empty()) {
    return refuse({&node, nullptr, {}, {}}, "'types' of an init rule", "a list of layer types", problems);
  }
  std::vector<std::string> known = types_with_parameters();
  for (const LocatedNode& item : node.items) {
    if (item.kind != NodeKind::string) {
      refuse({&item, nullptr, {}, {}}, "an item of 'types'", "a layer type's name", problems);
    } else if (std::ranges::find(known, item.string) == known.end()) {
      bool exists = find_layer_type(item.string) != nullptr;
      problems.add(item.place, exists ? item.string + " has no parameters to initialise"
                                      : "unknown layer type '" + item.string + "'" + suggestion(item.string, known));
    } else {
      rule.types.push_back(item.string);
    }
  }
}

InitRule read_rule(const LocatedNode& node, Problems& problems) {
  InitRule rule;
  rule.location = problems.locate(node.place);
  const LocatedMember* types = node.find("types");
  if (!types) problems.add(node.place, "an init rule needs 'types' (a list of layer types)");
  if (types) read_types(types->value, rule, problems);
  for (const LocatedMember& entry : node.members) {
    if (entry.key == "types") continue;
    bool exists = std::ranges::any_of(
        rule.types, [&](const std::string& type) { return may_have_parameter(*find_layer_type(type), entry.key); });
    if (!exists && !rule.types.empty()) {
      problems.add(entry.place,
                   "none of the rule's types has a parameter '" + entry.key + "'" + suggestion(entry.key, {"weight", "bias"}));
    }
    auto distribution = check_signature(distributions(), "distribution", entry.value, {}, problems);
    if (!distribution) continue;
    if ((*distribution)["type"] == "uniform" && (*distribution)["a"].get<double>() > (*distribution)["b"].get<double>()) {
      problems.add(entry.value.place, "distribution uniform has a above b");
    }
    rule.distributions.emplace(entry.key, std::move(*distribution));
  }
  if (node.members.size() <= 1 && types) problems.add(node.place, "an init rule needs a distribution, such as \"weight\": {…}");
  return rule;
}

}  // namespace

std::vector<InitRule> read_init_rules(const LocatedNode& list, Problems& problems) {
  std::vector<InitRule> rules;
  if (list.kind != NodeKind::array) {
    refuse({&list, nullptr, {}, {}}, "'init'", "a list of rules", problems);
    return rules;
  }
  for (const LocatedNode& item : list.items) {
    if (item.kind != NodeKind::object) {
      refuse({&item, nullptr, {}, {}}, "an init rule", "an object", problems);
      continue;
    }
    rules.push_back(read_rule(item, problems));
  }
  return rules;
}

void check_init_shapes(Graph& graph, const std::vector<InitRule>& rules, Problems& problems) {
  if (rules.empty()) return;
  // One example for each vector that a rule can name.
  std::map<std::pair<std::string, std::string>, std::string> vectors;
  for (const auto& [full_name, parameter] : parameters_of(graph)) {
    if (parameter.shape.size() < 2) vectors.emplace(std::pair(parameter.layer->type, parameter.own_name), full_name);
  }
  for (const InitRule& rule : rules) {
    for (const auto& [own_name, distribution] : rule.distributions) {
      std::string kind = distribution["type"].get<std::string>();
      // Xavier's gain scales a standard deviation by both fans; Kaiming's mode selects one of them.
      if (!distribution.contains("gain") && !distribution.contains("mode")) continue;
      for (const std::string& type : rule.types) {
        auto found = vectors.find({type, own_name});
        if (found == vectors.end()) continue;
        problems.add({rule.location.line, rule.location.column},
                     kind + " needs a parameter of at least two dimensions; '" + found->second + "' is a vector");
      }
    }
  }
}

}  // namespace sheaf::frontend
