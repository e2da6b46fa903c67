// The printers of a placement graph, one per format. Only svg, which runs Graphviz, can fail.
#pragma once

#include "tools/inspect/graph.h"

#include <string>

namespace sheaf {

/// A table in execution order, at most 140 columns wide if names allow; reasons beneath their rows.
std::string print_text(const PlacementGraph& graph);

/// The contract's {"nodes": […], "edges": […]} (docs/dump.md lists the fields).
Json node_to_json(const PlacementNode& node, bool expanded);
Json graph_to_json(const PlacementGraph& graph);
std::string print_json(const PlacementGraph& graph);

/// Google's Model Explorer: a collection of one graph, boxes by device and layer group.
Json graph_to_model_explorer(const PlacementGraph& graph);
std::string print_model_explorer(const PlacementGraph& graph);

/// Graphviz: devices as boxes, chains of layers as one node with a row each.
std::string print_dot(const PlacementGraph& graph);

/// print_dot's graph drawn by Graphviz. Errors: no program `dot` in PATH, or its failure.
Result<std::string> print_svg(const PlacementGraph& graph);

}  // namespace sheaf
