// Model Explorer's graph format (pypi.org/project/ai-edge-model-explorer, graph_builder.py): a collection of graphs, each a
// flat list of nodes whose `namespace` gives the boxes they are in.
#include "tools/inspect/colours.h"
#include "runtime/base/joined.h"
#include "tools/inspect/format.h"
#include "tools/inspect/print.h"

#include <map>

namespace sheaf {

namespace {

Json attribute(const std::string& key, const std::string& value) { return {{"key", key}, {"value", printable(value)}}; }

/// A component of a namespace: '/' in a device or layer name would begin another one.
std::string component(std::string_view name) {
  std::string text = printable(name);
  for (char& c : text)
    if (c == '/') c = '|';
  return text;
}

/// "cpu:0/net/module/block1": the device, then the groups that contain the layer. Symbolic: a region instead of a device.
std::string namespace_of(const PlacementNode& node) {
  std::string text = component(node.device);
  for (std::string_view rest = group_of(node.layer); !rest.empty();) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    // Replicas on one device have a box each, named after the copy of the module they run.
    text += "/" + component(rest.substr(0, dot));
    if (text.find('/') == text.rfind('/') && node.replica >= 0) text += " (replica " + std::to_string(node.replica) + ")";
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  return text;
}

std::string label_of(const PlacementNode& node) {
  const std::string name(node.layer.empty() ? std::string_view(node.name) : last_component(node.layer));
  return printable(node.op + (name.empty() ? "" : " " + name));
}

Json attributes_of(const PlacementNode& node) {
  Json list = Json::array();
  list.push_back(attribute("op", node.op));
  if (!node.layer.empty()) list.push_back(attribute("layer", node.layer));
  if (!node.name.empty()) list.push_back(attribute("name", node.name));
  list.push_back(attribute("device", node.device));
  if (node.replica >= 0) list.push_back(attribute("replica", std::to_string(node.replica)));
  if (!node.reason.empty()) list.push_back(attribute("reason", node.reason));
  if (!node.chunks.empty()) list.push_back(attribute("chunks", chunks_text(node.chunks)));
  if (node.inserted) list.push_back(attribute("bytes moved", bytes_text(node.bytes_moved)));
  if (node.parameter_bytes > 0) list.push_back(attribute("parameters", bytes_text(Extent(node.parameter_bytes))));
  if (node.location.line > 0)
    list.push_back(attribute("in the model file", node.location.file + ":" + std::to_string(node.location.line) + ":" +
                                                      std::to_string(node.location.column)));
  for (const auto& [key, value] : node.attributes.items())
    list.push_back(attribute(printable(key), value.is_string() ? value.get<std::string>()
                                                               : value.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return list;
}

Json outputs_of(const PlacementNode& node) {
  Json list = Json::array();
  for (size_t i = 0; i < node.results.size(); ++i) {
    const PlacementTensor& tensor = node.results[i];
    list.push_back({{"id", std::to_string(i)},
                    {"attrs", Json::array({attribute("__tensor_tag", tensor.value), attribute("shape", tensor_text(tensor)),
                                           attribute("bytes", bytes_text(tensor.bytes))})}});
  }
  return list;
}

/// Which of a node's results a value is; 0 for one that it passes on under another name.
std::string output_index(const PlacementNode& node, const std::string& value) {
  for (size_t i = 0; i < node.results.size(); ++i)
    if (node.results[i].value == value) return std::to_string(i);
  return "0";
}

}  // namespace

Json graph_to_model_explorer(const PlacementGraph& graph) {
  std::vector<Json> edges(graph.nodes.size(), Json::array());
  for (const PlacementEdge& edge : graph.edges) {
    Json& into = edges[static_cast<size_t>(edge.to)];
    const PlacementNode& from = graph.nodes[static_cast<size_t>(edge.from)];
    into.push_back({{"sourceNodeId", from.id},
                    {"sourceNodeOutputId", output_index(from, edge.tensor.value)},
                    {"targetNodeInputId", std::to_string(into.size())}});
  }
  Json nodes = Json::array();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const PlacementNode& node = graph.nodes[n];
    const NodeColours colours = colours_of(node);
    nodes.push_back({{"id", node.id},
                     {"label", label_of(node)},
                     {"namespace", namespace_of(node)},
                     {"attrs", attributes_of(node)},
                     {"incomingEdges", std::move(edges[n])},
                     {"outputsMetadata", outputs_of(node)},
                     {"style", {{"backgroundColor", colours.fill}, {"borderColor", colours.line}}}});
  }
  Json of_graph = {{"model", printable(graph.model)}, {"program", graph.program}};
  Json groups = Json::object();
  for (const PlacementRegion& region : graph.regions) {
    const std::string devices = printable(joined(region.devices, ","));
    of_graph["DataParallel " + printable(region.name)] = "dimension " + std::to_string(region.dim) + " split over " +
                                                         (devices.empty() ? "all devices" : devices) + ", gathered on " +
                                                         printable(region.output_device);
  }
  if (graph.expanded) of_graph["batch"] = std::to_string(graph.batch);
  groups[""] = std::move(of_graph);
  const std::string id = printable(graph.model) + " " + graph.program;
  return {{"label", printable(graph.model)},
          {"graphs", Json::array({{{"id", id}, {"nodes", std::move(nodes)}, {"groupNodeAttributes", std::move(groups)}}})}};
}

std::string print_model_explorer(const PlacementGraph& graph) {
  return graph_to_model_explorer(graph).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf
