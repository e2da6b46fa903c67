#include "tools/inspect/graph.h"

#include "tools/inspect/graph_builder.h"

namespace sheaf {

PlacementGraph symbolic_graph(const Plan& plan, const Program& program) {
  // The symbolic form evaluates nothing, so nothing can fail.
  return *GraphBuilder(plan, program, nullptr).build();
}

Result<PlacementGraph> expand(const Plan& plan, const Program& program, const std::vector<std::string>& devices, int64_t batch,
                              int shards) {
  SHEAF_ASSIGN(auto map, map_devices(plan, program, devices, shards));
  SHEAF_ASSIGN(auto symbols, SymbolTable::build(plan, program, batch, map.group_sizes()));
  const PlacementSizes sizes{std::move(map), std::move(symbols)};
  return GraphBuilder(plan, program, &sizes).build();
}

}  // namespace sheaf
