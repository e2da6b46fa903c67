#include "tools/estimate/planned_program.h"

#include "runtime/bind/tune.h"

#include <algorithm>
#include <numeric>

namespace sheaf {
size_t sum(const MemoryByPurpose& bytes) { return std::accumulate(bytes.begin(), bytes.end(), size_t{0}); }

size_t PlannedProgram::peak_bytes() const {
  size_t most = 0;
  for (LaneId lane : lasting.ids()) most = std::max(most, binding.memory.lanes[lane].bytes + sum(lasting[lane]));
  return most;
}

Result<PlannedProgram> plan_program(const Plan& plan, const Program& program, const DeviceSet& devices, int64_t batch,
                                    const BindOptions& options) {
  SHEAF_TRY(check_bytes(plan, program, options.bytes));
  PlannedProgram planned;
  // This program doesn't open the host; the set keeps it for as long as this is used.
  const std::shared_ptr<Device> host(&devices.host(), [](Device*) {});
  planned.store = std::make_unique<VariableStore>(host, plan.parameters, plan.state);
  for (const Parameter& parameter : plan.parameters) {  // a model has all of them, used or not
    SHEAF_TRY(planned.store->variable(parameter.name));
  }
  const IdVector<LaneId, std::shared_ptr<const Kernels>> kernels(devices.lanes().size());
  BindContext context{
      plan, program, devices, kernels, *planned.store, batch, options.fast_numerics, options.explain, options.deterministic};
  context.bytes = &options.bytes;
  SHEAF_ASSIGN(auto tuned, plan_tuned(context, options.tune));
  planned.binding = std::move(tuned.binding);
  planned.lasting.resize(kernels.size());
  for (const VariableStore::Node& node : planned.store->nodes()) {
    for (LaneId lane : devices.lanes()) {
      if (devices.device(lane).memory_space() != node.device->memory_space()) continue;
      planned.lasting[lane][static_cast<size_t>(purpose_of(plan, node))] += planned.store->bytes_of(node);
      break;
    }
  }
  return planned;
}

}  // namespace sheaf
