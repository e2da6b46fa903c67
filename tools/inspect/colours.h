// The colours of a node in every picture: by what it does or, in a difference, by how it changed.
#pragma once

#include "runtime/ops/traits.h"
#include "tools/inspect/graph.h"

namespace sheaf {

struct NodeColours {
  const char* fill;
  const char* line;
};

/// The class in page/style.css of data movement: "scatter", "replicate", "gather", "transfer" or "reduce", whatever the
/// operation is called; null if nothing moves.
const char* class_of(const Movement& movement);

/// The same colours as in page/style.css.
NodeColours colours_of(const PlacementNode& node);

}  // namespace sheaf
