#include "frontend/parameter_groups.h"

#include "frontend/layer_table.h"
#include "frontend/names.h"
#include "runtime/base/parameter_names.h"
#include "runtime/base/suggest.h"

#include <algorithm>
#include <map>
#include <set>

namespace sheaf::frontend {
namespace {

using NodeKind = LocatedNode::Kind;

struct Trained {
  std::string name;   ///< full
  std::string owner;  ///< the full name of the parameter it is tied to, or its own
  std::string layer_type;
};

void collect_trained(const Graph& graph, std::vector<Trained>& found) {
  for (const Layer& layer : graph.layers) {
    if (layer.body) collect_trained(*layer.body, found);
    const LayerType* type = layer.body ? nullptr : find_layer_type(layer.type);
    if (!type || !type->parameters || !layer.trainable) continue;
    for (const LayerParameter& parameter : type->parameters(layer.arguments)) {
      if (parameter.buffer || parameter.data) continue;
      const std::string name = full_parameter_name(layer.path, parameter.name);
      const auto tied = layer.share.find(parameter.name);
      found.push_back({name, tied == layer.share.end() ? name : tied->second, layer.type});
    }
  }
}

/// Whether `text` matches `pattern`, in which * stands for any characters and ? for any one of them.
bool fits(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool names(const std::string& pattern, const Trained& parameter) {
  for (const std::string& name : {parameter.name, without_module(parameter.name)})
    if (fits(pattern, name) || fits(pattern + ".*", name)) return true;
  return false;
}

class Groups {
 public:
  Groups(const std::vector<Argument>& optimizer, const Graph* graph, Problems& problems)
      : optimizer_(optimizer), known_(graph != nullptr), problems_(problems) {
    if (graph) collect_trained(*graph, trained_);
  }

  Json read(const LocatedNode& node) {
    Json group = Json::object();
    members_.clear();
    for (const LocatedMember& entry : node.members) {
      if (entry.key == "parameters" || entry.key == "types") {
        read_patterns(entry);
      } else if (entry.key == "lr" || entry.key == "weight_decay") {
        const auto row = std::ranges::find(optimizer_, entry.key, &Argument::name);
        auto value =
            check_argument(*row, 0, {&entry.value, nullptr, {}, {}}, "'" + entry.key + "' of a parameter group", problems_);
        if (value) group[entry.key] = std::move(*value);
      }
    }
    check_fields(node, {"parameters", "types", "lr", "weight_decay"}, "a parameter group", problems_);
    if (!node.find("parameters") && !node.find("types"))
      problems_.add(node.place, "a parameter group needs 'parameters' (a list of names or patterns) or 'types' (of layers)");
    if (!node.find("lr") && !node.find("weight_decay"))
      problems_.add(node.place, "a parameter group needs an 'lr' or a 'weight_decay' of its own");
    Json names = Json::array();
    for (const Trained& parameter : trained_)
      if (members_.contains(parameter.name)) names.push_back(parameter.name);
    group["parameters"] = std::move(names);
    ++index_;
    return group;
  }

 private:
  void read_patterns(const LocatedMember& entry) {
    const bool types = entry.key == "types";
    if (entry.value.kind != NodeKind::array || entry.value.items.empty())
      return refuse({&entry.value, nullptr, {}, {}}, "'" + entry.key + "' of a parameter group",
                    types ? "a list of layer types" : "a list of names or patterns", problems_);
    for (const LocatedNode& item : entry.value.items) {
      if (item.kind != NodeKind::string) {
        refuse({&item, nullptr, {}, {}}, "an item of '" + entry.key + "'",
               types ? "a layer type's name" : "a name or a pattern", problems_);
      } else if (types && !find_layer_type(item.string)) {
        std::vector<std::string> all;
        for (const LayerType& row : layer_types()) all.push_back(row.name);
        problems_.add(item.place, "unknown layer type '" + item.string + "'" + suggestion(item.string, all));
      } else if (known_) {
        take(item, types);
      }
    }
  }

  /// Adds the parameters that one item matches.
  void take(const LocatedNode& item, bool type) {
    bool found = false;
    for (const Trained& parameter : trained_) {
      if (type ? parameter.layer_type != item.string : !names(item.string, parameter)) continue;
      found = true;
      const auto [taken, is_new] = taken_.emplace(parameter.owner, Taken{index_, item.place});
      if (taken->second.group != index_) {
        problems_.add(item.place, "'" + parameter.name + "' is in two parameter groups",
                      {"the first takes it at " + problems_.text_of(taken->second.place)});
        return;
      }
      members_.insert(parameter.owner);
    }
    if (found) return;
    if (type) return problems_.add(item.place, "no layer of type '" + item.string + "' has a trained parameter");
    std::vector<std::string> all;
    for (const Trained& parameter : trained_) all.push_back(parameter.name);
    problems_.add(item.place, "no trained parameter is called '" + item.string + "'" + suggestion(item.string, all));
  }

  struct Taken {
    int group;
    TextPlace place;
  };
  const std::vector<Argument>& optimizer_;
  const bool known_;
  Problems& problems_;
  std::vector<Trained> trained_;
  std::map<std::string, Taken> taken_;  ///< by owner
  std::set<std::string> members_;       ///< owners in the group being read
  int index_ = 0;
};

}  // namespace

std::optional<Json> read_parameter_groups(const LocatedNode& list, const std::vector<Argument>& optimizer, const Graph* graph,
                                          Problems& problems) {
  if (list.kind != NodeKind::array) {
    refuse({&list, nullptr, {}, {}}, "'parameter_groups'", "a list of groups", problems);
    return std::nullopt;
  }
  Groups groups(optimizer, graph, problems);
  Json read = Json::array();
  for (const LocatedNode& item : list.items) {
    if (item.kind == NodeKind::object) read.push_back(groups.read(item));
    else refuse({&item, nullptr, {}, {}}, "a parameter group", "an object", problems);
  }
  return read;
}

}  // namespace sheaf::frontend
