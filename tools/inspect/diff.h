// The difference of two placement graphs: which nodes came and went, and what changed about those that stayed.
#pragma once

#include "tools/inspect/graph.h"

#include <map>
#include <string>
#include <vector>

namespace sheaf {

/// By layer: the operation that computes it and the layers computed with it, "conv of conv1 + bn1 + relu".
using LayerOperations = std::map<std::string, std::string>;

/// For an executable program (Plan::infer, Plan::train). A layer without a remaining step is missing.
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
  int before = -1, after = -1;  ///< indices into the sides' nodes; -1: absent there
  std::vector<PropertyChange> properties;
};

struct GraphDiff {
  DiffSide before, after;
  std::vector<PropertyChange> header;  ///< model, devices and regions
  std::vector<NodeDiff> nodes;         ///< in the order of `after`, with removed nodes where they were

  size_t count(NodeChange change) const;
  bool equal() const { return header.empty() && count(NodeChange::same) == nodes.size(); }
};

/// Nodes match if they have one op, layer (`module.` parts aside; inputs and outputs: name) and replica, the k-th such node on
/// one side with the k-th on the other; among the remaining ones, layers of one name and replica match whatever their op. Both
/// graphs are symbolic or both expanded.
GraphDiff diff(DiffSide before, DiffSide after);

/// The differing nodes, one per line with its changed properties beneath; equal nodes are only counted.
std::string print_diff_text(const GraphDiff& difference);
/// {"equal", "header": […], "nodes": […]}: docs/dump.md lists the fields.
std::string print_diff_json(const GraphDiff& difference);
/// Both graphs as one, with PlacementNode::change set, for print_dot and print_svg to draw.
PlacementGraph merged(const GraphDiff& difference);

}  // namespace sheaf
