#include "tools/inspect/format.h"
#include "tools/inspect/print.h"

namespace sheaf {

namespace {

/// A number if the size is known, an expression as a string if a run decides it.
Json size_json(const Extent& size) {
  if (size.is_static()) return size.constant;
  return to_string(size);
}

Json bytes_json(const std::optional<Extent>& bytes) {
  if (!bytes) return nullptr;
  return size_json(*bytes);
}

Json shape_json(const std::vector<Extent>& shape) {
  Json json = Json::array();
  for (const Extent& dim : shape) json.push_back(size_json(dim));
  return json;
}

Json edge_json(const PlacementGraph& graph, const PlacementEdge& edge) {
  Json json = {{"from", graph.nodes[static_cast<size_t>(edge.from)].id},
               {"to", graph.nodes[static_cast<size_t>(edge.to)].id},
               {"shape", shape_json(edge.tensor.shape)},
               {"dtype", name_of(edge.tensor.dtype)},
               {"bytes", bytes_json(edge.tensor.bytes)},
               {"value", edge.tensor.value}};
  if (edge.parameter) json["parameter"] = true;
  return json;
}

/// One element per line: readable, and a change of one node changes one line.
void append_array(std::string& text, const char* key, const Json& array) {
  text += "\"" + std::string(key) + "\": [";
  const char* separator = "\n  ";
  for (const Json& element : array) {
    text += separator + element.dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n  ";
  }
  text += "\n]";
}

}  // namespace

Json node_to_json(const PlacementNode& node, bool expanded) {
  Json json = {{"id", node.id}, {"op", node.op}, {"layer", node.layer}, {"device", node.device}};
  if (!node.name.empty()) json["name"] = node.name;
  if (node.replica >= 0) json["replica"] = node.replica;
  if (!node.reason.empty() || node.inserted) json["reason"] = node.reason;
  if (node.inserted) {
    if (expanded) json["chunks"] = node.chunks;
    json["bytes_moved"] = bytes_json(node.bytes_moved);
  }
  if (node.parameter_bytes > 0) json["parameter_bytes"] = node.parameter_bytes;
  if (!node.attributes.empty()) json["attributes"] = node.attributes;
  return json;
}

Json graph_to_json(const PlacementGraph& graph) {
  Json nodes = Json::array(), edges = Json::array();
  for (const PlacementNode& node : graph.nodes) nodes.push_back(node_to_json(node, graph.expanded));
  for (const PlacementEdge& edge : graph.edges) edges.push_back(edge_json(graph, edge));
  return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

std::string print_json(const PlacementGraph& graph) {
  const Json json = graph_to_json(graph);
  std::string text = "{";
  append_array(text, "nodes", json["nodes"]);
  text += ", ";
  append_array(text, "edges", json["edges"]);
  return text + "}\n";
}

}  // namespace sheaf
