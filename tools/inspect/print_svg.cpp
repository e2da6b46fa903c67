#include "tools/inspect/child_process.h"
#include "tools/inspect/print.h"

namespace sheaf {

Result<std::string> print_svg(const PlacementGraph& graph) {
  Result<ChildOutput> drawn = run_child({"dot", "-Tsvg"}, print_dot(graph));
  if (!drawn) {
    Error error = drawn.error();
    error.note("format svg is drawn by Graphviz: install it (Debian: apt-get install graphviz) or use --format html");
    return error;
  }
  if (drawn->status != 0 || drawn->output.empty())
    return Error("Graphviz could not draw the graph (dot -Tsvg, exit status " + std::to_string(drawn->status) +
                 "): " + drawn->errors);
  return std::move(drawn->output);
}

}  // namespace sheaf
