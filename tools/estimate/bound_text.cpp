#include "tools/estimate/bound_text.h"

#include "runtime/base/joined.h"
#include "runtime/base/printable.h"
#include "runtime/bind/print.h"
#include "runtime/plan/names.h"
#include "runtime/session/open_devices.h"
#include "tools/estimate/planned_program.h"
#include "tools/inspect/format.h"

namespace sheaf {

Result<std::string> bound_text(const Plan& plan, const Program& program, const std::vector<std::string>& devices, int64_t batch,
                               const BindOptions& options, const std::string& device_model) {
  if (program.steps.empty()) return Error("the plan holds no executable program");
  const std::string list = joined(devices, ",");
  SHEAF_ASSIGN(const auto parsed, parse_devices(list));
  SHEAF_ASSIGN(const auto opened, plan_devices(parsed, 0, options.shards, device_model));
  SHEAF_ASSIGN(const auto planned, plan_program(plan, program, opened, batch, options));
  return "bound program " + std::string(name_of(plan, program)) + " of " + printable(plan.name) + " on " + list + " with " +
         batch_text(batch, options.shards) + "\n\n" + print(planned.binding, program, opened);
}

}  // namespace sheaf
