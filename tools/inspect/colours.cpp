#include "tools/inspect/colours.h"

namespace sheaf {

NodeColours colours_of(const PlacementNode& node) {
  if (node.change == NodeChange::added) return {"#c9f2d2", "#15803d"};
  if (node.change == NodeChange::removed) return {"#fbd0d0", "#b91c1c"};
  if (node.change == NodeChange::changed) return {"#fdedb3", "#b45309"};
  if (node.change == NodeChange::same) return {"#ffffff", "#cbd5e1"};
  if (node.op == "scatter") return {"#d6e8fa", "#2b78c5"};
  if (node.op == "replicate") return {"#e9dcf9", "#7b4fc9"};
  if (node.op == "gather") return {"#fde3c8", "#d9791a"};
  if (node.op == "transfer" || node.op == "first") return {"#d5f1dd", "#2a9d55"};
  if (node.op == "reduce") return {"#fdf0b8", "#b58900"};
  if (node.inserted) return {"#fbd5dd", "#cc3b5e"};
  if (node.op == "input" || node.op == "output") return {"#e8eaed", "#6b7280"};
  return {"#ffffff", "#94a3b8"};
}

}  // namespace sheaf
