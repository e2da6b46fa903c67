#include "runtime/bind/planned_binding.h"

namespace sheaf {

Result<PlannedBinding> plan_binding(const BindContext& context) {
  context.constants.forget_plans();
  auto graph = expand(context);
  if (!graph) return graph.error();
  if (auto ok = sink_updates(*graph, context); !ok) return ok.error();
  if (auto ok = fetch_inputs(*graph, context); !ok) return ok.error();
  if (auto ok = form_collectives(*graph, context); !ok) return ok.error();
  place_values(*graph, context);
  const auto clocks = schedule(*graph, context.devices);
  if (auto ok = check_collectives(*graph); !ok) return ok.error();
  auto memory = plan_memory(*graph, context.devices, clocks);
  if (!memory) return memory.error();
  return PlannedBinding{std::move(*graph), std::move(*memory)};
}

}  // namespace sheaf
