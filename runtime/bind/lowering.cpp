#include "runtime/bind/lowering.h"

#include "runtime/bind/launches.h"

#include <algorithm>

namespace sheaf {
namespace {

std::string name_of(const LaneProgram& lane, const LaneLaunch& launch) {
  return (lane.operations[launch.first].commits ? "update of " : "") + std::to_string(launch.end - launch.first) +
         (lane.operations[launch.first].commits ? " parameters" : " operations");
}

class Lowering {
 public:
  Lowering(PlannedBinding& planned, const Addresses& addresses, const DeviceSet& devices)
      : program_(planned.program),
        schedule_(planned.schedule),
        memory_(planned.memory),
        addresses_(addresses),
        devices_(devices),
        events_(program_.instances.size(), nullptr) {
    made_.launches.resize(program_.instances.size());
    made_.texts.reserve(program_.instances.size());  // operations point into it
  }

  Result<LoweredLanes> run(Seconds deadline, bool record) {
    for (const Instance& instance : program_.instances) {
      const bool message = instance.is<Instance::Send>() || instance.is<Instance::Receive>();
      loads_first_ |= instance.collective >= 0 || (message && devices_.device(instance.lane).info().asynchronous);
    }
    for (LaneId lane : devices_.lanes()) SHEAF_TRY(open(lane, deadline));
    for (LaneId lane : devices_.lanes()) {
      LaneProgram& program = made_.programs[lane];
      operands_.clear();
      next_slot_ = 0;
      may_fail_ = may_fail(lane);
      if (!devices_.here(lane)) continue;
      for (InstanceId i : schedule_.lanes[lane]) add(i, program);
      program.first_part = static_cast<uint32_t>(schedule_.first_part[lane]);
      if (program.asynchronous) form_launches_of(lane, program, record);
    }
    SHEAF_TRY(make_ends());
    for (Instance& instance : program_.instances) {  // lanes point to each other's until here
      Instance::Call* call = instance.call();
      if (call && call->executable) made_.executables.push_back(std::move(call->executable));
    }
    return std::move(made_);
  }

 private:
  /// A lane's queue, room for its operands and, on an asynchronous lane, an event for each instance that signals.
  Result<void> open(LaneId lane, Seconds deadline) {
    LaneProgram& program = made_.programs.emplace_back();
    Device& device = devices_.device(lane);
    program.threads = devices_.threads(lane);
    if (!devices_.here(lane)) return {};  // another process runs it
    if (devices_.messenger(lane) && schedule_.lanes[lane].empty()) return {};
    program.asynchronous = device.info().asynchronous;
    program.loads_first = loads_first_;
    SHEAF_ASSIGN(program.queue, device.open_queue(program.threads, deadline));
    program.overlapping = dynamic_cast<OverlapsRuns*>(program.queue.get());
    size_t slots = 0, parts = 0;
    for (InstanceId i : schedule_.lanes[lane]) {
      const Instance& instance = program_.instances[i];
      slots += instance.inputs.size() + instance.outputs.size();
      if (instance.is<Instance::Fetch>()) parts += instance.inputs.size();
      if (!program.asynchronous || !schedule_.instances[i].signals) continue;
      SHEAF_ASSIGN(auto event, device.make_event());
      events_[i] = event.get();
      made_.events.push_back(std::move(event));
    }
    program.slots.assign(slots, nullptr);
    program.parts.reserve(parts);
    return {};
  }

  /// Where a program's runs end whose next one may begin before the host knows that: GPUs alone do all of its work, each can tell
  /// itself that the run has failed, and no other process takes part.
  Result<void> make_ends() {
    if (program_.updates.empty() || devices_.world()) return {};
    for (const LaneProgram& program : made_.programs) {
      if (!program.overlapping && !program.operations.empty()) return {};
      if (std::ranges::any_of(program.waits, [](const LaneWait& wait) { return wait.decider != nullptr; })) return {};
      const auto alone = [](const LaneOperation& one) {
        return one.kind == LaneOperation::print || (one.can_fail && !one.executable->reports_by_phase());
      };
      if (std::ranges::any_of(program.operations, alone)) return {};
    }
    for (LaneId lane : devices_.lanes()) {
      if (made_.programs[lane].operations.empty()) continue;
      for (Event*& end : made_.programs[lane].ends) {
        SHEAF_ASSIGN(auto event, devices_.device(lane).make_event());
        end = event.get();
        made_.events.push_back(std::move(event));
      }
    }
    return {};
  }

  void add(InstanceId i, LaneProgram& lane) {
    Instance& instance = program_.instances[i];
    const ScheduledInstance& scheduled = schedule_.instances[i];
    LaneOperation operation;
    operands_.emplace_back();
    operation.first_slot = static_cast<uint32_t>(next_slot_);
    operation.instance = i;
    operation.replica = instance.replica;
    operation.collective = instance.collective;
    operation.can_fail = instance.can_fail();
    operation.commits = instance.commits;
    operation.guarded = instance.commits && lane.asynchronous && may_fail_ && guardable(program_, instance, devices_);
    operation.event = events_[i];
    operation.signal = scheduled.signals ? scheduled.position + 1 : 0;
    operation.turn = scheduled.turn;
    operation.first_wait = static_cast<uint32_t>(lane.waits.size());
    for (const WaitFor& wait : scheduled.waits) {
      const Instance& source = program_.instances[wait.instance];
      if (!devices_.here(source.lane)) continue;  // its results arrive as a message
      lane.waits.push_back({source.lane, schedule_.instances[wait.instance].position + 1, events_[wait.instance],
                            wait.decides ? source.call()->executable.get() : nullptr});
    }
    operation.end_wait = static_cast<uint32_t>(lane.waits.size());
    add_work(instance, i, operation, lane);
    lane.operations.push_back(operation);
  }

  void add_work(Instance& instance, InstanceId i, LaneOperation& operation, LaneProgram& lane) {
    const auto address = [&](TensorId tensor, size_t offset, bool writes) {
      add_operand(lane, instance, tensor, offset, writes);
    };
    if (const auto* copy = instance.is<Instance::Copy>()) {
      operation.kind = LaneOperation::copy;
      operation.copy_shape = copy->shape;
      operation.ahead = copy->ahead;
      address(instance.outputs[0], copy->target_offset, true);
      if (copy->ahead) {
        const Root source = program_.root(instance.inputs[0]);
        const auto input = static_cast<size_t>(program_.tensors[source.tensor].lies<Tensor::Given>()->input);
        lane.ahead.push_back({static_cast<uint32_t>(lane.operations.size()), input, source.offset + copy->source_offset,
                              static_cast<uint32_t>(lane.two_places.size() - 1)});
      }
      address(instance.inputs[0], copy->source_offset, false);
      operation.delivers = delivers(operation);
    } else if (const auto* fetch = instance.is<Instance::Fetch>()) {
      operation.kind = LaneOperation::fetch;
      operation.first_part = static_cast<uint32_t>(lane.parts.size());
      address(instance.outputs[0], 0, true);
      for (TensorId tensor : instance.inputs) address(tensor, 0, false);
      lane.parts.insert(lane.parts.end(), fetch->parts.begin(), fetch->parts.end());
      operation.end_part = static_cast<uint32_t>(lane.parts.size());
    } else if (const auto* print = instance.is<Instance::Print>()) {
      operation.kind = LaneOperation::print;
      made_.texts.push_back(print->text);
      operation.text = &made_.texts.back();
    } else {
      for (TensorId tensor : instance.inputs) address(tensor, 0, false);
      for (TensorId tensor : instance.outputs) address(tensor, 0, true);
      operation.executable = instance.call()->executable.get();
      operation.scratch = static_cast<char*>(addresses_.arenas[instance.lane].get()) + memory_.scratch_offsets[i];
    }
  }

  /// Of the current lane's last operation, a copy.
  bool delivers(const LaneOperation& copy) const {
    const OperandRange &target = operands_.back()[0], &source = operands_.back()[1];
    const CopyShape& shape = copy.copy_shape;
    const bool contiguous = shape.rows == 1 || (shape.source_pitch == shape.row_bytes && shape.target_pitch == shape.row_bytes);
    return !target.begin && source.begin && source.local && contiguous && !copy.signal && !copy.guarded &&
           shape.rows * shape.row_bytes <= RecordsTransfers::kMostBytes;
  }

  void add_operand(LaneProgram& lane, const Instance& instance, TensorId tensor, size_t offset, bool writes) {
    void** slot = &lane.slots[next_slot_++];
    addresses_.put(slot, tensor, offset);
    const Root root = program_.root(tensor);
    const TensorId twin = program_.tensors[root.tensor].twin;
    if (twin) {
      void* other = nullptr;
      addresses_.put(&other, twin, root.offset + offset);
      lane.two_places.push_back({static_cast<uint32_t>(next_slot_ - 1), other});
    }
    const bool local =
        devices_.device(program_.home(tensor).lane).memory_space() == devices_.device(instance.lane).memory_space();
    operands_.back().push_back(
        {static_cast<const char*>(*slot), program_.tensors[tensor].spec.bytes, writes, local, twin.operator bool()});
  }

  bool may_fail(LaneId lane) const {
    const auto& order = schedule_.lanes[lane];
    return std::any_of(order.begin(), order.end(), [&](InstanceId i) { return program_.instances[i].can_fail(); });
  }

  void form_launches_of(LaneId lane, LaneProgram& program, bool record) {
    auto merged = form_launches(program, operands_, devices_.device(lane), record);
    std::move(merged.begin(), merged.end(), std::back_inserter(made_.executables));
    for (const LaneLaunch& launch : program.launches) {
      for (uint32_t i = launch.first; launch.merged && i < launch.end; ++i) {
        made_.launches[program.operations[i].instance] = name_of(program, launch);
      }
    }
  }

  BoundProgram& program_;
  const Schedule& schedule_;
  const MemoryPlan& memory_;
  const Addresses& addresses_;
  const DeviceSet& devices_;
  IdVector<InstanceId, Event*> events_;
  bool loads_first_ = false;
  LoweredLanes made_;
  std::vector<std::vector<OperandRange>> operands_;  ///< of the current lane, by operation
  size_t next_slot_ = 0;                             ///< likewise
  bool may_fail_ = false;                            ///< likewise: some instance may
};

}  // namespace

void Addresses::put(void** slot, TensorId tensor, size_t offset) const {
  const Root root = planned.program.root(tensor);
  const Tensor& home = planned.program.tensors[root.tensor];
  offset += root.offset;
  if (const auto* given = home.lies<Tensor::Given>()) buffers.hang(slot, *given, offset);
  else if (const auto* wanted = home.lies<Tensor::Wanted>()) buffers.hang(slot, *wanted, offset);
  else if (const auto* stored = home.lies<Tensor::Stored>()) *slot = store.data({stored->node, offset});
  else *slot = static_cast<char*>(arenas[home.lane].get()) + planned.memory.root_offsets[root.tensor] + offset;
}

Result<LoweredLanes> lower(PlannedBinding& planned, const Addresses& addresses, const DeviceSet& devices, Seconds deadline,
                           bool record) {
  return Lowering(planned, addresses, devices).run(deadline, record);
}

}  // namespace sheaf
