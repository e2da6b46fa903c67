// Why a node exists: what the model file says, what became of it, who wanted it.
#include "tools/explain/explain.h"
#include "tools/explain/select.h"
#include "tools/inspect/dump.h"
#include "tools/inspect/format.h"

#include <algorithm>
#include <functional>
#include <set>

namespace sheaf {
namespace {

std::string place_of(const Location& location) {
  return location.file + ":" + std::to_string(location.line) + ":" + std::to_string(location.column);
}

std::string node_text(const PlacementNode& node) {
  std::string text = node.id + " (" + node.op;
  const std::string& name = node.layer.empty() ? node.name : node.layer;
  if (!name.empty()) text += " " + name;
  return text + " on " + node.device + (node.replica >= 0 ? ", replica " + std::to_string(node.replica) : "") + ")";
}

class Chain {
 public:
  Chain(const Plan& plan, const Program& program, const PlacementGraph& graph, int index)
      : plan_(plan), program_(program), graph_(graph), index_(index), node_(graph.nodes[static_cast<size_t>(index)]) {}

  Why build() {
    Why why{node_, tensors_before(), tensors_after(), {}};
    annotation(why.chain);
    if (!node_.reason.empty()) why.chain.push_back(node_.reason + ".");
    if (node_.inserted) movement(why.chain);
    else if (node_.region >= 0 && node_.replica >= 0) replica(why.chain);
    neighbours(why.chain);
    return why;
  }

 private:
  const Region* region() const {
    const bool known = node_.region >= 0 && static_cast<size_t>(node_.region) < plan_.regions.size();
    return known ? &plan_.regions[static_cast<size_t>(node_.region)] : nullptr;
  }

  /// The model file's text, and where it is.
  void annotation(std::vector<std::string>& chain) const {
    if (const Region* in = region()) {
      std::string text = in->location.line > 0 ? place_of(in->location) + ": " : "";
      text += "DataParallel layer '" + in->name + "' with ";
      if (!in->device_ids) text += "device_ids null, every device of the run";
      for (size_t i = 0; in->device_ids && i < in->device_ids->size(); ++i)
        text += (i ? ", " : "device_ids ") + std::to_string((*in->device_ids)[i]);
      text += in->output_device ? ", output_device " + std::to_string(*in->output_device)
                                : ", no output_device (the first is taken)";
      chain.push_back(text + ", dim " + std::to_string(in->dim) + ".");
    }
    const bool of_region = region() && node_.layer == region()->name;
    if (!node_.layer.empty() && !of_region && node_.location.line > 0)
      chain.push_back(place_of(node_.location) + ": layer '" + node_.layer + "'.");
    else if (node_.layer.empty() && node_.kind == PlacementNode::input)
      chain.push_back("'" + node_.name + "' is given to each run, and arrives on the host.");
    else if (node_.layer.empty() && node_.kind == PlacementNode::output)
      chain.push_back("'" + node_.name + "' is an output of the program; outputs stay where they are made.");
    else if (node_.layer.empty())
      chain.push_back(
          "No layer asks for it: it is part of the training step that the model file's 'training' section asks for.");
  }

  /// "x: 30×5 f32 on host, made by in0 (input x on host)"; parameters without a node: "given with the weights".
  std::vector<std::string> tensors_before() const {
    std::vector<std::string> lines;
    std::set<std::string> seen;
    for (const PlacementEdge& edge : graph_.edges) {
      if (edge.to != index_) continue;
      const PlacementNode& from = graph_.nodes[static_cast<size_t>(edge.from)];
      std::string line =
          edge.tensor.value + ": " + tensor_text(edge.tensor) + layout_of(edge.tensor.value) + ", made by " + node_text(from);
      if (seen.insert(line).second) lines.push_back(std::move(line));
    }
    if (node_.parameter_bytes > 0)
      lines.push_back("parameters and buffers: " + bytes_text(Extent(node_.parameter_bytes)) +
                      (copies_to_replicas(node_.movement) ? " a copy" : ""));
    return lines;
  }

  std::vector<std::string> tensors_after() const {
    std::vector<std::string> lines;
    for (const PlacementTensor& result : node_.results)
      lines.push_back(result.value + ": " + tensor_text(result) + layout_of(result.value));
    return lines;
  }

  /// " on each replica of 'net', split along dimension 0": where a value lives, in its type.
  std::string layout_of(const std::string& name) const {
    const auto value =
        std::find_if(program_.values.begin(), program_.values.end(), [&](const Value& v) { return v.name == name; });
    if (value == program_.values.end()) return "";
    if (value->place.kind == Place::host) return " on host";
    if (value->place.kind == Place::device) {
      const auto index = static_cast<size_t>(value->place.index);
      return " on " + (graph_.expanded && index < graph_.devices.size() ? graph_.devices[index] : to_string(value->place));
    }
    std::string text = " on each replica of '" + plan_.regions[static_cast<size_t>(value->place.index)].name + "'";
    switch (value->layout.kind) {
      case ValueLayout::split: return text + ", split along dimension " + std::to_string(value->layout.dim);
      case ValueLayout::replicated: return text + ", the same on each";
      case ValueLayout::partial: return text + ", a part of a sum";
      case ValueLayout::local: return text + ", each replica's own";
      case ValueLayout::sharded: return text + ", of which each has a share";
      case ValueLayout::whole: break;
    }
    return text;
  }

  void movement(std::vector<std::string>& chain) const {
    std::string text =
        "The value's type before and after differs in its place, and a value moves only by an operation of its own: ";
    text += node_.op + " is the one from there to here";
    if (!node_.chunks.empty()) text += ", in chunks of " + chunks_text(node_.chunks);
    chain.push_back(text + ". It moves " + bytes_text(node_.bytes_moved) + " from device to device.");
  }

  void replica(std::vector<std::string>& chain) const {
    chain.push_back(
        "Layers inside a DataParallel layer run once on each device of the group, each time on its replica's chunk; this is "
        "replica " +
        std::to_string(node_.replica) + ", on " + node_.device + ".");
  }

  /// The readers of its results: the layers behind further movements.
  void neighbours(std::vector<std::string>& chain) const {
    std::set<int> visited;
    std::vector<std::string> users;
    const std::function<void(int)> follow = [&](int from) {
      for (const PlacementEdge& edge : graph_.edges) {
        if (edge.from != from || !visited.insert(edge.to).second) continue;
        const PlacementNode& to = graph_.nodes[static_cast<size_t>(edge.to)];
        if (to.inserted) follow(edge.to);
        else users.push_back(node_text(to));
      }
    };
    follow(index_);
    if (users.empty()) {
      if (node_.kind != PlacementNode::output)
        chain.push_back(
            "Nothing else in the program reads it: it becomes the new value of a parameter, buffer or state, or is printed.");
      return;
    }
    std::string text = "Read by ";
    constexpr size_t kMost = 6;
    for (size_t i = 0; i < std::min(users.size(), kMost); ++i) text += (i ? ", " : "") + users[i];
    if (users.size() > kMost) text += " and " + std::to_string(users.size() - kMost) + " more";
    chain.push_back(text + ".");
  }

  const Plan& plan_;
  const Program& program_;
  const PlacementGraph& graph_;
  int index_;
  const PlacementNode& node_;
};

}  // namespace

Result<Why> why(const Plan& plan, const ExplainRequest& request, const std::string& id) {
  SHEAF_ASSIGN(auto graph, placement_graph(plan, graph_options(request)));
  std::vector<std::string> ids;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    ids.push_back(graph.nodes[n].id);
    if (ids.back() != id) continue;
    return Chain(plan, request.program == "train" ? plan.train_graph : plan.infer_graph, graph, static_cast<int>(n)).build();
  }
  std::vector<std::string> replicas;  // "s3" where there are s3_r0, s3_r1
  for (const PlacementNode& node : graph.nodes)
    if (node.replica >= 0 && node.id == id + "_r" + std::to_string(node.replica)) replicas.push_back(node.id);
  if (!replicas.empty()) return select_name("id", id, replicas).error();
  return select_name("id", id, ids).error().note("`sheaf dump --format json` shows the ids, for the same devices and batch");
}

}  // namespace sheaf
