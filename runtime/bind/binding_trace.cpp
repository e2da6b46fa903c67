// Runs that a trace records.
#include "runtime/bind/binding.h"
#include "runtime/cost/description.h"
#include "runtime/machine/tick_clock.h"
#include "runtime/plan/names.h"
#include "runtime/plan/op_list.h"
#include "runtime/trace/recording.h"
#include "sheaf/trace.h"

#include <algorithm>

namespace sheaf {
namespace {

Cost cost_of(const Plan& plan, const Program& program, const OperationInfo& operation) {
  if (operation.op == Op::print) return {};
  const bool of_step = operation.step >= 0 && program.steps[static_cast<size_t>(operation.step)].op == operation.op;
  Step inserted;
  inserted.op = operation.op;  // what binding adds
  const Step& step = of_step ? program.steps[static_cast<size_t>(operation.step)] : inserted;
  return operation_cost(plan, step, operation.input_specs, operation.output_specs);
}

/// The step's name, or that of what binding adds.
std::string name_of(const Program& program, const OperationInfo& operation) {
  const bool of_step = operation.step >= 0 && program.steps[static_cast<size_t>(operation.step)].op == operation.op;
  return of_step ? op_name(program.steps[static_cast<size_t>(operation.step)]) : to_string(operation.op);
}

std::string implementation_of(const Plan& plan, const OperationInfo& operation) {
  for (const Kernel& kernel : plan.kernels) {
    if (operation.op == Op::kernel && kernel.name == operation.kernel) return kernel.name + ": " + kernel.description;
  }
  return operation.implementation;
}

}  // namespace

bool Binding::traced_run(const PrintSink* sink, Trace& trace) {
  if (!recording_ || recording_->owner() != trace.identity()) recording_ = trace.add(traced_program(trace.devices()));
  const auto times = recording_->begin();
  CallLog* calls = nullptr;  // those of a kind share one
  for (int lane = 0; lane < devices_->lanes() && !calls; ++lane) calls = devices_->device(lane).call_log();
  if (calls) calls->start();
  const int64_t begin = ticks();
  const bool done = executor_->run(sink, times);
  const int64_t end = ticks();
  const auto noted = calls ? calls->stop() : std::span<const CallLog::Call>();
  if (done) recording_->commit(begin, end, noted);
  return done;
}

TracedProgram Binding::traced_program(const DeviceDescriptions& described) const {
  TracedProgram traced{plan_->name,     std::string(name_of(*plan_, *program_)), batch_, {}, info_.communications,
                       described.source};
  int busy_threads = 0;  // those of the host's cores share its memory's bandwidth
  for (int l = 0; l < devices_->lanes(); ++l) {
    const bool on_host = devices_->device(l).info().uses_host_cores;
    if (on_host && !executor_->lane(static_cast<size_t>(l)).operations.empty()) busy_threads += devices_->threads(l);
  }
  for (int l = 0; l < devices_->lanes(); ++l) {
    const LaneProgram& program = executor_->lane(static_cast<size_t>(l));
    const DeviceInfo& device = devices_->device(l).info();
    const int threads = devices_->threads(l), busy = device.uses_host_cores ? busy_threads : threads;
    const auto roofline_of = [&](Op op, DType dtype, double bytes) {
      return lane_roofline(described.of(device), threads, busy, op, dtype, bytes);
    };
    constexpr double kMoreThanCaches = 1e12;
    const DType dtype = plan_->precision == "f32" ? DType::float32 : DType::bfloat16;
    const Roofline roofline = roofline_of(Op::matmul, dtype, kMoreThanCaches);
    TracedLane lane;
    lane.name = devices_->name(l);
    lane.asynchronous = program.asynchronous;
    lane.live_bytes = info_.memory[static_cast<size_t>(l)].live_bytes;
    lane.flops_per_second = roofline.flops_per_second;
    lane.bytes_per_second = roofline.bytes_per_second;
    const auto add = [&](uint32_t first, uint32_t end) {
      const LaneOperation& operation = program.operations[first];
      const OperationInfo& info = info_.operations[static_cast<size_t>(operation.instance)];
      TracedOperation of_lane{
          name_of(*program_, info), info.layer, implementation_of(*plan_, info), info.replica, operation.instance, {}, 0};
      for (uint32_t i = first; i < end; ++i) {
        const OperationInfo& part = info_.operations[static_cast<size_t>(program.operations[i].instance)];
        const Cost cost = cost_of(*plan_, *program_, part);
        Roofline own = roofline_of(part.op, multiplied(part.op, part.input_specs), cost.bytes());
        own.seconds_per_operation = 0;
        of_lane.cost += cost;
        of_lane.least_seconds += seconds(own, cost);
      }
      if (end - first > 1) {
        of_lane.layer = info.launch;
      }
      lane.operations.push_back(std::move(of_lane));
      auto& waits = lane.waits_for.emplace_back();
      for (uint32_t i = operation.first_wait; i < operation.end_wait; ++i) waits.push_back(program.waits[i].lane);
    };
    if (program.asynchronous) {
      for (const LaneLaunch& launch : program.launches) add(launch.first, launch.end);
    } else {
      for (uint32_t i = 0; i < program.operations.size(); ++i) add(i, i + 1);
    }
    traced.lanes.push_back(std::move(lane));
  }
  return traced;
}

}  // namespace sheaf
