#include "runtime/inspect/format.h"
#include "runtime/inspect/page.h"
#include "runtime/inspect/picture.h"
#include "runtime/inspect/print.h"

namespace sheaf {

namespace {

/// What the page shows of a graph: the contract's JSON with sizes written for people, and parameters as one arrow
/// per replica.
Json page_data(const PlacementGraph& graph) {
  const Json plain = graph_to_json(graph);
  Json data = {{"model", graph.model}, {"program", graph.program}, {"devices", graph.devices}};
  std::string subtitle = "program " + graph.program + ", ";
  if (graph.expanded) {
    subtitle += "batch " + std::to_string(graph.batch) + " on ";
    for (size_t i = 0; i < graph.devices.size(); ++i) subtitle += (i ? ", " : "") + graph.devices[i];
  } else {
    subtitle += "any device list and batch";
  }
  data["subtitle"] = subtitle;
  // In a symbolic graph a region's name stands for the devices of its replicas.
  data["each_replica"] = Json::array();
  if (!graph.expanded)
    for (const PlacementRegion& region : graph.regions) data["each_replica"].push_back(region.name);

  Json nodes = Json::array(), edges = Json::array();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const PlacementNode& node = graph.nodes[n];
    Json json = plain["nodes"][n];
    json["region"] = node.region;
    json["inserted"] = node.inserted;
    if (node.inserted) json["moved"] = bytes_text(node.bytes_moved);
    if (node.parameter_bytes > 0) json["parameters"] = bytes_text(Extent(node.parameter_bytes));
    // A scatter's or replicate's results are on the arrows to its replicas.
    if (!node.results.empty() && node.op != "scatter" && node.op != "replicate")
      json["result"] = tensor_text(node.results[0]) + ", " + bytes_text(node.results[0].bytes);
    nodes.push_back(std::move(json));
  }
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    const PlacementTensor& tensor = graph.edges[e].tensor;
    if (graph.edges[e].parameter) continue;
    const Json& json = plain["edges"][e];
    edges.push_back({{"from", json["from"]}, {"to", json["to"]}, {"value", json["value"]},
                     {"what", tensor_text(tensor)}, {"size", bytes_text(tensor.bytes)}});
  }
  const Picture picture = picture_of(graph);
  const auto id = [&](int box) { return graph.nodes[static_cast<size_t>(picture.boxes[static_cast<size_t>(box)].nodes[0])].id; };
  for (const PictureArrow& arrow : picture.arrows)
    if (arrow.parameters)
      edges.push_back({{"from", id(arrow.from)}, {"to", id(arrow.to)}, {"value", ""}, {"what", arrow.what},
                       {"size", arrow.bytes}, {"parameter", true}});
  data["nodes"] = std::move(nodes);
  data["edges"] = std::move(edges);
  return data;
}

/// JSON inside <script>: nothing in it can end the element or open a comment.
std::string script_json(const Json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') out += "\\u003c";
    else if (c == '>') out += "\\u003e";
    else if (c == '&') out += "\\u0026";
    else out += c;
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else out += c;
  }
  return out;
}

}  // namespace

std::string print_html(const PlacementGraph& graph) {
  // Markers in their order in the template; each is looked for behind what was filled in before it, so that a
  // model's name can't be taken for one.
  const std::pair<std::string_view, std::string> parts[] = {{"<!--SHEAF:TITLE-->", escaped(graph.model)},
                                                           {"/*SHEAF:STYLE*/", page::kStyle},
                                                           {"<!--SHEAF:DATA-->", script_json(page_data(graph))},
                                                           {"/*SHEAF:SCRIPT*/", page::kScript}};
  std::string out;
  std::string_view rest = page::kTemplate;
  for (const auto& [marker, content] : parts) {
    const size_t at = rest.find(marker);
    out.append(rest.substr(0, at)).append(content);
    rest.remove_prefix(at + marker.size());
  }
  return out.append(rest);
}

}  // namespace sheaf
