#include "runtime/bind/planned_binding.h"

namespace sheaf {

Result<PlannedBinding> plan_binding(const BindContext& context) {
  context.constants.forget_plans();
  SHEAF_ASSIGN(auto graph, expand(context));
  SHEAF_TRY(sink_updates(graph, context));
  SHEAF_TRY(fetch_inputs(graph, context));
  SHEAF_TRY(form_collectives(graph, context));
  place_values(graph, context);
  const auto clocks = schedule(graph, context);
  SHEAF_TRY(check_collectives(graph));
  SHEAF_ASSIGN(auto memory, plan_memory(graph, context.devices, clocks));
  return PlannedBinding{std::move(graph), std::move(memory)};
}

}  // namespace sheaf
