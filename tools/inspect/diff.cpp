#include "tools/inspect/diff.h"

#include "runtime/base/joined.h"
#include "runtime/base/parameter_names.h"
#include "tools/inspect/format.h"

#include <algorithm>
#include <tuple>

namespace sheaf {

namespace {

/// "net.module.fc" and "net.fc" are one layer, with and without DataParallel around it.
std::string name_of(const PlacementNode& node) { return without_module(node.layer.empty() ? node.name : node.layer); }

/// Outside of regions there is one replica.
int replica_of(const PlacementNode& node) { return std::max(node.replica, 0); }

/// Each node of `before` → its partner in `after`, or -1.
std::vector<int> match(const PlacementGraph& before, const PlacementGraph& after) {
  using Key = std::tuple<std::string, std::string, int>;
  std::vector<int> partner(before.nodes.size(), -1);
  std::vector<bool> taken(after.nodes.size(), false);
  const auto pair_up = [&](auto key_of) {
    std::map<Key, std::vector<int>> open;
    for (size_t n = after.nodes.size(); n-- > 0;)
      if (const auto key = key_of(after.nodes[n]); !taken[n] && key) open[*key].push_back(static_cast<int>(n));
    for (size_t n = 0; n < before.nodes.size(); ++n) {
      const auto key = key_of(before.nodes[n]);
      if (partner[n] >= 0 || !key || open[*key].empty()) continue;
      partner[n] = open[*key].back();
      open[*key].pop_back();
      taken[static_cast<size_t>(partner[n])] = true;
    }
  };
  pair_up([](const PlacementNode& node) { return std::optional(Key(node.op, name_of(node), replica_of(node))); });
  pair_up([](const PlacementNode& node) -> std::optional<Key> {
    if (node.inserted || node.layer.empty()) return std::nullopt;
    return Key("", name_of(node), replica_of(node));
  });
  return partner;
}

std::string attribute_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string results_text(const PlacementNode& node) {
  std::string text;
  for (const PlacementTensor& result : node.results) text += (text.empty() ? "" : ", ") + tensor_text(result);
  return text;
}

/// The operands of a node, in order: "scatter of net, net.relu". Parameters are left out.
std::string inputs_text(const PlacementGraph& graph, int index) {
  std::string text;
  for (const PlacementEdge& edge : graph.edges) {
    if (edge.to != index || edge.parameter) continue;
    const PlacementNode& from = graph.nodes[static_cast<size_t>(edge.from)];
    text += (text.empty() ? "" : ", ") + (from.inserted ? from.op + " of " : "") + name_of(from);
    if (from.replica > 0) text += " (replica " + std::to_string(from.replica) + ")";
  }
  return text;
}

std::string operation_of(const DiffSide& side, const PlacementNode& node) {
  const auto found = side.operations.find(node.layer);
  return node.inserted || found == side.operations.end() ? "" : found->second;
}

std::vector<PropertyChange> compare(const DiffSide& a, int before, const DiffSide& b, int after) {
  const PlacementNode &x = a.graph.nodes[static_cast<size_t>(before)], &y = b.graph.nodes[static_cast<size_t>(after)];
  std::vector<PropertyChange> changes;
  const auto note = [&](const std::string& what, const std::string& old_text, const std::string& new_text) {
    if (old_text != new_text) changes.push_back({what, old_text, new_text});
  };
  note("op", x.op, y.op);
  note("layer", x.layer, y.layer);
  note("device", x.device, y.device);
  note("result", results_text(x), results_text(y));
  note("operation", operation_of(a, x), operation_of(b, y));
  note("inputs", inputs_text(a.graph, before), inputs_text(b.graph, after));
  note("chunks", chunks_text(x.chunks), chunks_text(y.chunks));
  if (x.inserted && y.inserted) note("bytes moved", bytes_text(x.bytes_moved), bytes_text(y.bytes_moved));
  note("parameters", bytes_text(Extent(x.parameter_bytes)), bytes_text(Extent(y.parameter_bytes)));
  for (const auto& [key, value] : x.attributes.items())
    note("attributes." + key, attribute_text(value), y.attributes.contains(key) ? attribute_text(y.attributes[key]) : "");
  for (const auto& [key, value] : y.attributes.items())
    if (!x.attributes.contains(key)) note("attributes." + key, "", attribute_text(value));
  note("reason", x.reason, y.reason);
  return changes;
}

std::string region_text(const PlacementRegion& region) {
  return "dimension " + std::to_string(region.dim) + " split over " +
         (region.devices.empty() ? "all devices" : joined(region.devices, ",")) + ", gathered on " + region.output_device;
}

std::vector<PropertyChange> compare_headers(const PlacementGraph& a, const PlacementGraph& b) {
  std::vector<PropertyChange> changes;
  const auto note = [&](const std::string& what, const std::string& old_text, const std::string& new_text) {
    if (old_text != new_text) changes.push_back({what, old_text, new_text});
  };
  note("model", a.model, b.model);
  note("devices", joined(a.devices, ","), joined(b.devices, ","));
  std::map<std::string, std::pair<std::string, std::string>> regions;
  for (const PlacementRegion& region : a.regions) regions[region.name].first = region_text(region);
  for (const PlacementRegion& region : b.regions) regions[region.name].second = region_text(region);
  for (const auto& [name, texts] : regions) note("region " + name, texts.first, texts.second);
  return changes;
}

}  // namespace

LayerOperations layer_operations(const Program& program) {
  LayerOperations operations;
  for (const Step& step : program.steps) {
    if (step.layer.empty() || step.once) continue;
    std::string text = op_name(step) + " of " + step.layer;
    for (const std::string& layer : step.fused) text += " + " + layer;
    for (const std::string& layer : step.fused) operations.try_emplace(layer, text);
    operations.try_emplace(step.layer, text);
  }
  return operations;
}

size_t GraphDiff::count(NodeChange change) const {
  return static_cast<size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](const NodeDiff& node) { return node.change == change; }));
}

GraphDiff diff(DiffSide before, DiffSide after) {
  GraphDiff result{std::move(before), std::move(after), {}, {}};
  const PlacementGraph &a = result.before.graph, &b = result.after.graph;
  result.header = compare_headers(a, b);
  const std::vector<int> partner = match(a, b);
  std::vector<int> origin(b.nodes.size(), -1);
  for (size_t n = 0; n < partner.size(); ++n)
    if (partner[n] >= 0) origin[static_cast<size_t>(partner[n])] = static_cast<int>(n);
  size_t next = 0;  // of `before`: everything before it has been placed, or waits for its partner
  const auto place_removed = [&](size_t end) {
    for (; next < end; ++next)
      if (partner[next] < 0) result.nodes.push_back({NodeChange::removed, static_cast<int>(next), -1, {}});
  };
  for (size_t n = 0; n < b.nodes.size(); ++n) {
    const int index = static_cast<int>(n), from = origin[n];
    if (from < 0) {
      result.nodes.push_back({NodeChange::added, -1, index, {}});
      continue;
    }
    place_removed(static_cast<size_t>(from));
    std::vector<PropertyChange> changes = compare(result.before, from, result.after, index);
    const NodeChange change = changes.empty() ? NodeChange::same : NodeChange::changed;
    result.nodes.push_back({change, from, index, std::move(changes)});
  }
  place_removed(a.nodes.size());
  return result;
}

PlacementGraph merged(const GraphDiff& difference) {
  const PlacementGraph &a = difference.before.graph, &b = difference.after.graph;
  PlacementGraph graph = b;
  graph.model = "from " + difference.before.label + " to " + difference.after.label +
                " (green: came, red: went, amber: changed), " + b.model;
  graph.nodes.clear();
  std::vector<int> of_before(a.nodes.size(), -1), of_after(b.nodes.size(), -1);
  for (const NodeDiff& node : difference.nodes) {
    const int index = static_cast<int>(graph.nodes.size());
    const bool gone = node.change == NodeChange::removed;
    PlacementNode shown = gone ? a.nodes[static_cast<size_t>(node.before)] : b.nodes[static_cast<size_t>(node.after)];
    if (gone) shown.id = "before_" + shown.id;
    if (gone) shown.region = -1;  // its region may be gone
    shown.change = node.change;
    for (const PropertyChange& property : node.properties)
      if (property.what != "reason")
        shown.reason += (shown.reason.empty() ? "" : "; ") + property.what + ": " + property.before + " → " + property.after;
    graph.nodes.push_back(std::move(shown));
    if (node.before >= 0) of_before[static_cast<size_t>(node.before)] = index;
    if (node.after >= 0) of_after[static_cast<size_t>(node.after)] = index;
  }
  for (PlacementEdge& edge : graph.edges) {
    edge.from = of_after[static_cast<size_t>(edge.from)];
    edge.to = of_after[static_cast<size_t>(edge.to)];
  }
  for (PlacementEdge edge : a.edges) {
    edge.from = of_before[static_cast<size_t>(edge.from)];
    edge.to = of_before[static_cast<size_t>(edge.to)];
    const bool touches_removed = graph.nodes[static_cast<size_t>(edge.from)].change == NodeChange::removed ||
                                 graph.nodes[static_cast<size_t>(edge.to)].change == NodeChange::removed;
    if (touches_removed) graph.edges.push_back(std::move(edge));
  }
  return graph;
}

}  // namespace sheaf
