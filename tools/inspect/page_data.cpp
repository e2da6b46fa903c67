#include "tools/inspect/page_data.h"

#include "runtime/base/joined.h"
#include "runtime/plan/names.h"
#include "runtime/plan/op_list.h"
#include "tools/inspect/colours.h"
#include "tools/inspect/format.h"
#include "tools/inspect/picture.h"
#include "tools/inspect/print.h"

#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

namespace sheaf {

namespace {

/// Whether it belongs to a training step: inference, and a program that only updates, have a single phase.
bool has_phases(const PlacementGraph& graph) {
  std::set<Phase> phases;
  for (const PlacementNode& node : graph.nodes)
    if (node.kind == PlacementNode::operation) phases.insert(node.phase);
  return phases.size() > 1;
}

std::string subtitle_of(const PageContent& content) {
  const PlacementGraph& graph = content.graph;
  std::string text = "program " + graph.program + ", ";
  if (content.difference)
    text = printable(content.difference->before.label) + " → " + printable(content.difference->after.label) + ", " + text;
  if (!graph.expanded) return text + "any device list and batch";
  return text + "batch " + std::to_string(graph.batch) + " on " + joined(graph.devices);
}

std::string place_text(const Location& at) {
  if (at.line == 0) return "";
  return printable(at.file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

/// Layers whose work another layer's operation does.
std::map<std::string, std::string> computed_with(const Program* executable) {
  std::map<std::string, std::string> with;
  if (!executable) return with;
  for (const Step& step : executable->steps)
    for (const std::string& layer : step.fused)
      if (layer != step.layer) with.emplace(layer, step.layer);
  // Excludes a layer that has an operation of its own too (among those that run in each step).
  for (const Step& step : executable->steps)
    if (!step.once) with.erase(step.layer);
  return with;
}

const char* name_of_change(NodeChange change) {
  switch (change) {
    case NodeChange::none: break;
    case NodeChange::same: return "same";
    case NodeChange::changed: return "changed";
    case NodeChange::removed: return "removed";
    case NodeChange::added: return "added";
  }
  return "";
}

Json changes_json(const std::vector<PropertyChange>& changes) {
  Json json = Json::array();
  for (const PropertyChange& change : changes) json.push_back({change.what, change.before, change.after});
  return json;
}

/// How node `n` of merged() changed. A differing node has a separate list there, instead of a place in the reason.
void say_difference(Json& json, const GraphDiff& difference, size_t n) {
  const NodeDiff& node = difference.nodes[n];
  json["change"] = name_of_change(node.change);
  json["properties"] = changes_json(node.properties);
  const PlacementGraph& graph = node.after >= 0 ? difference.after.graph : difference.before.graph;
  json["reason"] = graph.nodes[static_cast<size_t>(node.after >= 0 ? node.after : node.before)].reason;
}

Json nodes_json(const PageContent& content) {
  const PlacementGraph& graph = content.graph;
  const bool phases = has_phases(graph);
  const std::map<std::string, std::string> with = computed_with(content.executable);
  Json nodes = Json::array();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const PlacementNode& node = graph.nodes[n];
    Json json = node_to_json(node, graph.expanded);
    if (content.difference) say_difference(json, *content.difference, n);
    json["region"] = node.region;
    json["inserted"] = node.inserted;
    if (phases) json["phase"] = std::string(name_of(node.phase));
    if (const std::string place = place_text(node.location); !place.empty()) json["location"] = place;
    if (node.inserted) json["moved"] = bytes_text(node.bytes_moved);
    if (node.parameter_bytes > 0) json["parameters"] = bytes_text(Extent(node.parameter_bytes));
    if (const auto found = with.find(node.layer); found != with.end() && !node.inserted) json["computed_with"] = found->second;
    // A scatter's or replicate's results are on the arrows to its replicas.
    if (node.movement.route != Route::to_replicas)
      for (const PlacementTensor& result : node.results)
        json["results"].push_back(tensor_text(result) + ", " + bytes_text(result.bytes));
    nodes.push_back(std::move(json));
  }
  return nodes;
}

Json edges_json(const PlacementGraph& graph) {
  Json edges = Json::array();
  const auto id = [&](int node) { return graph.nodes[static_cast<size_t>(node)].id; };
  for (const PlacementEdge& edge : graph.edges) {
    if (edge.parameter) continue;
    Json json = {{"from", id(edge.from)},
                 {"to", id(edge.to)},
                 {"value", edge.tensor.value},
                 {"what", tensor_text(edge.tensor)},
                 {"size", bytes_text(edge.tensor.bytes)}};
    if (edge.tensor.bytes && edge.tensor.bytes->is_static()) json["bytes"] = edge.tensor.bytes->constant;
    edges.push_back(std::move(json));
  }
  // Parameters are one arrow for each replica.
  const Picture picture = picture_of(graph);
  const auto first = [&](int box) { return id(picture.boxes[static_cast<size_t>(box)].nodes[0]); };
  for (const PictureArrow& arrow : picture.arrows)
    if (arrow.parameters)
      edges.push_back({{"from", first(arrow.from)},
                       {"to", first(arrow.to)},
                       {"value", ""},
                       {"what", arrow.what},
                       {"size", arrow.bytes},
                       {"parameter", true}});
  return edges;
}

Json memory_json(const std::vector<LaneMemory>& lanes) {
  Json json = Json::array();
  for (const LaneMemory& lane : lanes) {
    Json operations = Json::array(), tensors = Json::array();
    for (const ProfiledOperation& operation : lane.operations)
      operations.push_back({{"op", to_string(operation.op)}, {"layer", operation.layer}, {"replica", operation.replica}});
    for (const ProfiledTensor& tensor : lane.tensors)
      tensors.push_back({{"name", (tensor.scratch ? "scratch memory of " : "") + printable(tensor.name)},
                         {"bytes", tensor.bytes},
                         {"begin", tensor.begin},
                         {"end", tensor.end}});
    json.push_back({{"lane", lane.lane},
                    {"arena", lane.arena_bytes},
                    {"peak", lane.peak_bytes},
                    {"peak_position", lane.peak_position},
                    {"live", lane.live_bytes},
                    {"operations", std::move(operations)},
                    {"tensors", std::move(tensors)}});
  }
  return json;
}

/// What the script needs to know of an operation: the class in style.css of its movement, whether it is the plan's, and which
/// part of a training step it belongs to.
Json operations_json() {
  Json operations = Json::object();
  for (size_t i = 0; i < kOps; ++i) {
    const OpTraits& row = traits(static_cast<Op>(i));
    Json json = Json::object();
    if (const char* movement = class_of(row.movement)) json["movement"] = movement;
    if (row.source == Source::program) json["planned"] = true;
    if (row.pass == Pass::backward) json["phase"] = name_of(Phase::backward);
    if (row.op == Op::update) json["phase"] = name_of(Phase::update);
    operations[to_string(row.op)] = std::move(json);
  }
  return operations;
}

/// Stored by column, with each text and each set of arguments once: a trace repeats them in every step.
class TimelineJson {
 public:
  Json of(const Timeline& timeline) {
    Json tracks = Json::array();
    for (const TimelineTrack& track : timeline.tracks) tracks.push_back({{"process", track.process}, {"name", track.name}});
    Json columns = {{"file", printable(timeline.file)}, {"left_out", timeline.left_out}, {"tracks", std::move(tracks)}};
    for (const char* column : {"track", "name", "layer", "op", "replica", "step", "begin", "duration", "arguments"})
      columns[column] = Json::array();
    for (const TimelineSlice& slice : timeline.slices) {
      columns["track"].push_back(slice.track);
      columns["name"].push_back(index_of(slice.name));
      columns["layer"].push_back(index_of(slice.layer));
      columns["op"].push_back(index_of(slice.op));
      columns["replica"].push_back(slice.replica);
      columns["step"].push_back(slice.step);
      // A trace resolves nanoseconds at best; further digits from subtraction are noise.
      columns["begin"].push_back(std::round(slice.begin_us * 1000) / 1000);
      columns["duration"].push_back(std::round(slice.duration_us * 1000) / 1000);
      const auto [at, fresh] = argument_index_.try_emplace(slice.args.dump(), arguments_.size());
      if (fresh) arguments_.push_back(slice.args);
      columns["arguments"].push_back(at->second);
    }
    columns["names"] = std::move(names_);
    columns["args"] = std::move(arguments_);
    return columns;
  }

 private:
  size_t index_of(const std::string& name) {
    const auto [at, fresh] = name_index_.try_emplace(name, names_.size());
    if (fresh) names_.push_back(name);
    return at->second;
  }

  Json names_ = Json::array(), arguments_ = Json::array();
  std::unordered_map<std::string, size_t> name_index_, argument_index_;
};

}  // namespace

const std::string& title_of(const PageContent& content) {
  return content.difference ? content.difference->after.graph.model : content.graph.model;
}

Json page_data(const PageContent& content) {
  const PlacementGraph& graph = content.graph;
  Json data = {{"model", title_of(content)},
               {"program", graph.program},
               {"devices", graph.devices},
               {"subtitle", subtitle_of(content)},
               {"phases", has_phases(graph)}};
  // In a symbolic graph a region's name stands for the devices of its replicas.
  data["each_replica"] = Json::array();
  if (!graph.expanded)
    for (const PlacementRegion& region : graph.regions) data["each_replica"].push_back(region.name);
  data["operations"] = operations_json();
  data["nodes"] = nodes_json(content);
  data["edges"] = edges_json(graph);
  if (content.memory) data["memory"] = memory_json(*content.memory);
  if (!content.no_memory.empty()) data["no_memory"] = content.no_memory;
  if (content.timeline) data["timeline"] = TimelineJson().of(*content.timeline);
  if (content.difference) data["difference"] = {{"header", changes_json(content.difference->header)}};
  return data;
}

}  // namespace sheaf
