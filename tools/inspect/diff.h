// The difference of two placement graphs: which nodes came and went, and what changed about those that stayed.
#pragma once

#include "tools/inspect/graph.h"

#include <map>
#include <string>
#include <vector>

namespace sheaf {

/// By layer: the operation that computes it and the layers that it computes with it, "conv of conv1 + bn1 + relu".
using LayerOperations = std::map<std::string, std::string>;

/// Of an executable program (Plan::infer, Plan::train). A layer that no step is left of is missing.
LayerOperations layer_operations(const Program& program);

/// A graph with what the executable program makes of its layers.
struct DiffSide {
  std::string label;  ///< the file, for titles
  PlacementGraph graph;
  LayerOperations operations;
};

/// One property that differs, as text.
struct PropertyChange {
  std::string what;  ///< "op", "layer", "device", "result", "operation", "inputs", "chunks", "attributes.stride", …
  std::string before, after;
};

struct NodeDiff {
  NodeChange change = NodeChange::same;
  int before = -1, after = -1;  ///< indices into the sides' nodes; -1: it isn't there
  std::vector<PropertyChange> properties;
};

struct GraphDiff {
  DiffSide before, after;
  std::vector<PropertyChange> header;  ///< model, devices and regions
  std::vector<NodeDiff> nodes;         ///< in the order of `after`, nodes that went where they stood

  size_t count(NodeChange change) const;
  bool equal() const { return header.empty() && count(NodeChange::same) == nodes.size(); }
};

/// Nodes are the same where they have one op, layer (`module.` parts aside; inputs and outputs: name) and replica, the
/// k-th of such on one side and on the other; of those left over, layers of one name and replica whatever their op.
/// Both graphs are symbolic or both expanded.
GraphDiff diff(DiffSide before, DiffSide after);

/// What differs, a node a line with its changed properties beneath; equal nodes are only counted.
std::string print_diff_text(const GraphDiff& difference);
/// {"equal", "header": […], "nodes": […]}: docs/dump.md lists the fields.
std::string print_diff_json(const GraphDiff& difference);
/// Both graphs as one, with PlacementNode::change set: what print_dot and print_svg draw.
PlacementGraph merged(const GraphDiff& difference);

}  // namespace sheaf
