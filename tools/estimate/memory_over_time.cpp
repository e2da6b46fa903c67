#include "tools/estimate/memory_over_time.h"

#include "runtime/base/joined.h"
#include "runtime/session/open_devices.h"
#include "tools/estimate/estimate.h"

namespace sheaf {

Result<std::vector<LaneMemory>> memory_over_time(const Plan& plan, const Program& program,
                                                 const std::vector<std::string>& devices, int64_t batch, int shards) {
  if (program.steps.empty()) return Error("the plan holds no executable program");
  SHEAF_ASSIGN(auto parsed, parse_devices(joined(devices, ",")));
  SHEAF_ASSIGN(auto opened, plan_devices(parsed, 0, shards));
  SHEAF_ASSIGN(auto planned, estimate(plan, program, devices, opened, batch));
  return std::move(planned.memory);
}

}  // namespace sheaf
