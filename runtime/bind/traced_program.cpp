#include "runtime/bind/traced_program.h"

#include "runtime/plan/kernel_lookup.h"
#include "runtime/plan/names.h"
#include "runtime/plan/op_list.h"

#include <optional>

namespace sheaf {
namespace {

std::string implementation_of(const Plan& plan, const OperationInfo& operation) {
  const Kernel* kernel = operation.op == Op::kernel ? find_kernel(plan, operation.kernel) : nullptr;
  return kernel ? kernel->name + ": " + kernel->description : operation.implementation;
}

/// The step's name, or the name of what binding adds.
std::string name_of(const Program& program, const OperationInfo& operation) {
  const bool of_step = operation.step >= 0 && program.steps[static_cast<size_t>(operation.step)].op == operation.op;
  return of_step ? op_name(program.steps[static_cast<size_t>(operation.step)]) : to_string(operation.op);
}

}  // namespace

TracedProgram traced_program(const Plan& plan, const Program& program, int64_t batch, const DeviceSet& devices,
                             const BindingInfo& info, Executor& executor, const DeviceDescriptions& described) {
  std::vector<const DeviceInfo*> all;
  for (LaneId l : devices.lanes()) all.push_back(&devices.device(l).info());
  TracedProgram traced{plan.name, std::string(name_of(plan, program)), batch, {}, {}, described.source_for(all)};
  // By operation: the one that is timed with it, the first of its launch. Those of other ranks have none.
  std::vector<std::optional<int>> timed(info.operations.size());
  int busy_threads = 0;  // devices on the host's cores share its memory's bandwidth
  for (LaneId l : devices.lanes()) {
    const bool on_host = devices.device(l).info().uses_host_cores;
    if (on_host && !executor.lane(l).operations.empty()) busy_threads += devices.threads(l);
  }
  for (LaneId l : IdRange<LaneId>(info.lanes.size())) {
    const LaneProgram& work = executor.lane(l);
    const DeviceInfo& device = devices.device(l).info();
    const int threads = devices.threads(l), busy = device.uses_host_cores ? busy_threads : threads;
    const auto roofline_of = [&](Op op, DType dtype, double bytes) {
      return lane_roofline(described.of(device), threads, busy, op, dtype, bytes);
    };
    constexpr double kMoreThanCaches = 1e12;
    const DType dtype = plan.precision == "f32" ? DType::float32 : DType::bfloat16;
    const Roofline roofline = roofline_of(Op::matmul, dtype, kMoreThanCaches);
    TracedLane lane;
    lane.name = devices.name(l);
    lane.device = log_entry(devices.device(l));
    lane.asynchronous = work.asynchronous;
    lane.arena_bytes = devices.here(l) ? info.lanes[l.index()].arena_bytes : 0;
    lane.times_work = work.asynchronous && work.queue->times_work();
    lane.live_bytes = info.memory[l.index()].live_bytes;
    lane.flops_per_second = roofline.flops_per_second;
    lane.bytes_per_second = roofline.bytes_per_second;
    const auto add = [&](uint32_t first, uint32_t end) {
      const LaneOperation& operation = work.operations[first];
      const OperationInfo& leader = info.operations[operation.instance.index()];
      TracedOperation of_lane{name_of(program, leader),
                              leader.layer,
                              implementation_of(plan, leader),
                              leader.replica,
                              operation.instance.number(),
                              {},
                              0};
      for (uint32_t i = first; i < end; ++i) {
        timed[work.operations[i].instance.index()] = operation.instance.number();
        const OperationInfo& part = info.operations[work.operations[i].instance.index()];
        const Cost cost = cost_of(plan, program, part);
        Roofline own = roofline_of(part.op, multiplied(part.op, part.input_specs), cost.bytes());
        own.seconds_per_operation = 0;
        of_lane.cost += cost;
        of_lane.least_seconds += seconds(own, cost);
      }
      if (end - first > 1) {
        of_lane.layer = leader.launch;
      }
      lane.operations.push_back(std::move(of_lane));
      auto& waits = lane.waits_for.emplace_back();
      for (uint32_t i = operation.first_wait; i < operation.end_wait; ++i) waits.push_back(work.waits[i].lane.number());
    };
    if (work.asynchronous) {
      for (const LaneLaunch& launch : work.launches) {
        if (work.operations[launch.first].ahead) lane.ahead.push_back(lane.operations.size());
        add(launch.first, launch.end);
      }
    } else {
      for (uint32_t i = 0; i < work.operations.size(); ++i) add(i, i + 1);
    }
    traced.lanes.push_back(std::move(lane));
  }
  for (Communication one : info.communications) {
    const auto end = [&](int& instance) {
      const auto shown = instance < 0 ? instance : timed[static_cast<size_t>(instance)];
      instance = shown.value_or(instance);
      return shown.has_value();
    };
    if (end(one.producer) && end(one.consumer)) traced.communications.push_back(std::move(one));
  }
  return traced;
}

}  // namespace sheaf
