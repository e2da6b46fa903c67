// A difference as text and JSON.
#include "tools/inspect/diff.h"
#include "tools/inspect/format.h"
#include "tools/inspect/print.h"

#include <array>

namespace sheaf {

namespace {

const PlacementNode& node_of(const GraphDiff& difference, const NodeDiff& node) {
  return node.after >= 0 ? difference.after.graph.nodes[static_cast<size_t>(node.after)]
                         : difference.before.graph.nodes[static_cast<size_t>(node.before)];
}

std::string in_words(const PropertyChange& change) {
  const auto shown = [](const std::string& text) { return text.empty() ? std::string("(none)") : printable(text); };
  return change.what + ": " + shown(change.before) + " → " + shown(change.after);
}

std::string counted(size_t count, const char* what) { return std::to_string(count) + " " + what; }

std::string summary(const GraphDiff& difference) {
  const size_t same = difference.count(NodeChange::same);
  if (same == difference.nodes.size()) return "nodes: all " + std::to_string(same) + " are the same\n";
  return "nodes: " + counted(difference.count(NodeChange::added), "came, ") +
         counted(difference.count(NodeChange::removed), "went, ") +
         counted(difference.count(NodeChange::changed), "changed, ") + counted(same, "are the same") + "\n";
}

Json properties_json(const std::vector<PropertyChange>& properties) {
  Json list = Json::array();
  for (const PropertyChange& property : properties)
    list.push_back({{"what", property.what}, {"before", property.before}, {"after", property.after}});
  return list;
}

const char* name_of(NodeChange change) {
  switch (change) {
    case NodeChange::added: return "added";
    case NodeChange::removed: return "removed";
    case NodeChange::changed: return "changed";
    default: return "same";
  }
}

}  // namespace

std::string print_diff_text(const GraphDiff& difference) {
  const PlacementGraph& graph = difference.after.graph;
  std::string text = "from " + printable(difference.before.label) + " to " + printable(difference.after.label) + ", program " +
                     printable(graph.program);
  if (graph.expanded) text += " with batch " + std::to_string(graph.batch);
  text += "\n";
  for (const PropertyChange& change : difference.header) text += in_words(change) + "\n";
  text += summary(difference);
  if (difference.count(NodeChange::same) < difference.nodes.size()) text += "\n";
  std::array<size_t, 3> width{};
  const auto cells = [&](const NodeDiff& node) {
    const PlacementNode& shown = node_of(difference, node);
    std::string replica = shown.replica >= 0 ? " (replica " + std::to_string(shown.replica) + ")" : "";
    return std::array<std::string, 3>{printable(shown.device), printable(shown.op),
                                      printable(shown.layer.empty() ? shown.name : shown.layer) + replica};
  };
  for (const NodeDiff& node : difference.nodes) {
    if (node.change == NodeChange::same) continue;
    const auto row = cells(node);
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], width_of(row[c]));
  }
  for (const NodeDiff& node : difference.nodes) {
    if (node.change == NodeChange::same) continue;
    std::string line = node.change == NodeChange::added ? "+" : node.change == NodeChange::removed ? "-" : "~";
    const auto row = cells(node);
    for (size_t c = 0; c < row.size(); ++c) line += " " + row[c] + std::string(width[c] - width_of(row[c]) + 1, ' ');
    const PlacementNode& shown = node_of(difference, node);
    if (node.change != NodeChange::changed && !shown.results.empty()) line += " " + tensor_text(shown.results[0]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    for (const PropertyChange& property : node.properties) text += "    " + in_words(property) + "\n";
    if (node.change == NodeChange::added && !shown.reason.empty()) text += "    " + printable(shown.reason) + "\n";
  }
  return text;
}

std::string print_diff_json(const GraphDiff& difference) {
  const PlacementGraph &a = difference.before.graph, &b = difference.after.graph;
  Json nodes = Json::array();
  for (const NodeDiff& node : difference.nodes) {
    Json json = {{"change", name_of(node.change)}};
    if (node.before >= 0) json["before"] = node_to_json(a.nodes[static_cast<size_t>(node.before)], a.expanded);
    if (node.after >= 0) json["after"] = node_to_json(b.nodes[static_cast<size_t>(node.after)], b.expanded);
    if (!node.properties.empty()) json["properties"] = properties_json(node.properties);
    nodes.push_back(std::move(json));
  }
  const Json json = {{"before", difference.before.label},
                     {"after", difference.after.label},
                     {"program", b.program},
                     {"equal", difference.equal()},
                     {"added", difference.count(NodeChange::added)},
                     {"removed", difference.count(NodeChange::removed)},
                     {"changed", difference.count(NodeChange::changed)},
                     {"same", difference.count(NodeChange::same)},
                     {"header", properties_json(difference.header)},
                     {"nodes", std::move(nodes)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf
