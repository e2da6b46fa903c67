// The colours of a node in every picture: by what it does, or in a difference by what became of it.
#pragma once

#include "tools/inspect/graph.h"

namespace sheaf {

struct NodeColours {
  const char* fill;
  const char* line;
};

/// The same colours as in page/style.css.
NodeColours colours_of(const PlacementNode& node);

}  // namespace sheaf
