#include "runtime/bind/planned_binding.h"

namespace sheaf {

Result<PlannedBinding> plan_binding(const BindContext& context) {
  auto graph = expand(context);
  if (!graph) return graph.error();
  place_values(*graph, context);
  const auto clocks = schedule(*graph, context.devices);
  auto memory = plan_memory(*graph, context.devices, clocks);
  if (!memory) return memory.error();
  return PlannedBinding{std::move(*graph), std::move(*memory)};
}

}  // namespace sheaf
