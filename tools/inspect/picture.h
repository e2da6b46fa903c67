// What a drawn picture shows of a placement graph: chains of layers as one box, parameters as one arrow per replica. print_dot
// prints it; the page has its own folding by layer groups.
#pragma once

#include "tools/inspect/graph.h"

#include <string>
#include <vector>

namespace sheaf {

/// One or more consecutive nodes on one device, each its predecessor's only user, all in one layer group
/// ("net.module.block1.0").
struct PictureBox {
  std::vector<int> nodes;  ///< indices into PlacementGraph::nodes, in order
  std::string group;       ///< dotted name without the last component; empty at the top level and for inserted nodes
};

struct PictureArrow {
  int from = 0;  ///< indices into Picture::boxes
  int to = 0;
  std::string what;         ///< "128×64×28×28 f32", or "parameters"
  std::string bytes;        ///< "25.7 MB"
  bool parameters = false;  ///< all parameters that go from one node to one replica
};

struct Picture {
  std::vector<PictureBox> boxes;
  std::vector<PictureArrow> arrows;
};

Picture picture_of(const PlacementGraph& graph);

}  // namespace sheaf
