#include "runtime/bind/planned_binding.h"

#include "runtime/bind/rewrites.h"

namespace sheaf {

Result<PlannedBinding> plan_binding(const BindContext& context) {
  context.store.forget_plans();
  SHEAF_ASSIGN(auto program, expand(context));
  for (const Rewrite& rewrite : rewrites()) SHEAF_TRY(rewrite.apply(program, context));
  auto lanes = schedule(program, context);
  SHEAF_TRY(check_collectives(program, lanes));
  SHEAF_TRY(check_messages(program));
  SHEAF_ASSIGN(auto memory, plan_memory(program, lanes, context.devices));
  return PlannedBinding{std::move(program), std::move(lanes), std::move(memory)};
}

}  // namespace sheaf
