#include "tools/inspect/page_data.h"

namespace sheaf {

std::vector<std::string> phases_of(const PlacementGraph& graph) {
  const size_t count = graph.nodes.size();
  std::vector<std::string> phases(count);
  if (graph.program != "train" && graph.program != "accumulate") return phases;
  // The forward part ends with what makes the first output, the loss; the program's order is one of execution.
  size_t loss = 0;
  for (const PlacementEdge& edge : graph.edges)
    if (graph.nodes[static_cast<size_t>(edge.to)].id == "out0") loss = static_cast<size_t>(edge.from);
  std::vector<std::vector<size_t>> users(count);
  for (const PlacementEdge& edge : graph.edges) users[static_cast<size_t>(edge.from)].push_back(static_cast<size_t>(edge.to));
  for (size_t n = count; n-- > 0;) {
    const PlacementNode& node = graph.nodes[n];
    if (n <= loss || node.op == "output" || node.op == "first") {  // first: of the forward part's statistics
      phases[n] = "forward";
      continue;
    }
    // What serves updates alone, outside the replicas, belongs to them: sums of gradients, their clipping.
    bool updates = node.replica < 0 && !users[n].empty() && node.op.find("backward") == std::string::npos;
    for (const size_t user : users[n]) updates = updates && phases[user] == "update";
    phases[n] = updates || node.op.ends_with("_update") ? "update" : "backward";
  }
  return phases;
}

}  // namespace sheaf
