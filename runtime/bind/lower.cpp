// The last step of binding: lanes' operations with their addresses, waits and events.
#include "runtime/bind/binding.h"
#include "runtime/bind/launches.h"
#include "runtime/bind/memory_plan.h"

#include <algorithm>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

std::string name_of(const LaneProgram& lane, const LaneLaunch& launch) {
  return (lane.operations[launch.first].commits ? "update of " : "") + std::to_string(launch.end - launch.first) +
         (lane.operations[launch.first].commits ? " parameters" : " operations");
}

}  // namespace

Result<std::vector<LaneProgram>> Binding::open_lanes(const Graph& graph, Seconds deadline, std::vector<Event*>& events) {
  std::vector<LaneProgram> lanes(graph.lane_order.size());
  events.assign(graph.instances.size(), nullptr);
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    LaneProgram& program = lanes[lane];
    Device& device = devices_->device(static_cast<int>(lane));
    program.threads = devices_->threads(static_cast<int>(lane));
    program.asynchronous = device.info().asynchronous;
    SHEAF_ASSIGN(auto queue, device.open_queue(program.threads, deadline));
    program.queue = std::move(queue);
    size_t slots = 0, parts = 0;
    for (int i : graph.lane_order[lane]) {
      const Instance& instance = graph.instances[index_of(i)];
      slots += instance.inputs.size() + instance.outputs.size();
      if (instance.kind == Instance::fetch) parts += instance.inputs.size();
      if (!program.asynchronous || !instance.signals) continue;
      SHEAF_ASSIGN(auto event, device.make_event());
      events[index_of(i)] = event.get();
      events_.push_back(std::move(event));
    }
    program.slots.assign(slots, nullptr);
    program.parts.reserve(parts);
  }
  return lanes;
}

Result<std::vector<LaneProgram>> Binding::lower(Graph& graph, const MemoryPlan& memory, const BindRequest& request) {
  input_relocations_.resize(inputs_.size());
  output_relocations_.resize(outputs_.size());
  bound_inputs_.assign(inputs_.size(), nullptr);
  bound_outputs_.assign(outputs_.size(), nullptr);
  std::vector<Event*> events;
  SHEAF_ASSIGN(auto lanes, open_lanes(graph, request.deadline, events));
  texts_.reserve(graph.instances.size());  // operations point into it
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    LaneProgram& program = lanes[lane];
    Device& device = devices_->device(static_cast<int>(lane));
    size_t next_slot = 0;
    std::vector<std::vector<OperandRange>> operands;  // by operation
    const auto address = [&](int tensor, size_t offset, bool writes) {
      const Root root = graph.root(tensor);
      const Tensor& home = graph.tensors[index_of(root.tensor)];
      void** slot = &program.slots[next_slot++];
      offset += root.offset;
      if (home.input >= 0) {
        input_relocations_[index_of(home.input)].push_back({slot, offset});
      } else if (home.output >= 0) {
        output_relocations_[index_of(home.output)].push_back({slot, offset});
      } else if (home.node >= 0) {
        *slot = constants_->data({home.node, offset});
      } else {
        *slot = static_cast<char*>(arenas_[index_of(home.lane)].get()) + memory.root_offsets[index_of(root.tensor)] + offset;
      }
      operands.back().push_back({static_cast<const char*>(*slot), graph.tensors[index_of(tensor)].spec.bytes, writes,
                                 devices_->device(home.lane).memory_space() == device.memory_space()});
    };
    const auto& order = graph.lane_order[lane];
    const bool may_fail = std::any_of(order.begin(), order.end(), [&](int i) { return graph.instances[index_of(i)].can_fail; });
    for (int i : order) {
      Instance& instance = graph.instances[index_of(i)];
      LaneOperation operation;
      operands.emplace_back();
      operation.first_slot = static_cast<uint32_t>(next_slot);
      operation.instance = i;
      operation.replica = instance.replica;
      operation.collective = instance.collective;
      operation.can_fail = instance.can_fail;
      operation.commits = instance.commits;
      operation.guarded = instance.commits && program.asynchronous && may_fail && guardable(graph, instance, *devices_);
      operation.copy_shape = instance.copy_shape;
      operation.event = events[index_of(i)];
      operation.signal = instance.signals ? instance.position + 1 : 0;
      operation.first_wait = static_cast<uint32_t>(program.waits.size());
      for (const WaitFor& wait : instance.waits) {
        const Instance& source = graph.instances[index_of(wait.instance)];
        program.waits.push_back({wait.lane, source.position + 1, events[index_of(wait.instance)],
                                 wait.decides ? source.executable.get() : nullptr});
      }
      operation.end_wait = static_cast<uint32_t>(program.waits.size());
      if (instance.kind == Instance::copy) {
        operation.kind = LaneOperation::copy;
        address(instance.outputs[0], instance.target_offset, true);
        address(instance.inputs[0], instance.source_offset, false);
      } else if (instance.kind == Instance::fetch) {
        operation.kind = LaneOperation::fetch;
        operation.first_part = static_cast<uint32_t>(program.parts.size());
        address(instance.outputs[0], 0, true);
        for (int tensor : instance.inputs) address(tensor, 0, false);
        program.parts.insert(program.parts.end(), instance.parts.begin(), instance.parts.end());
        operation.end_part = static_cast<uint32_t>(program.parts.size());
      } else if (instance.kind == Instance::print) {
        operation.kind = LaneOperation::print;
        texts_.push_back(std::move(instance.text));
        operation.text = &texts_.back();
      } else {
        for (int tensor : instance.inputs) address(tensor, 0, false);
        for (int tensor : instance.outputs) address(tensor, 0, true);
        operation.executable = instance.executable.get();
        operation.scratch = static_cast<char*>(arenas_[lane].get()) + memory.scratch_offsets[index_of(i)];
      }
      program.operations.push_back(operation);
    }
    if (!program.asynchronous) continue;
    for (auto& merged : form_launches(program, operands, device, request.graphs)) executables_.push_back(std::move(merged));
    for (const LaneLaunch& launch : program.launches) {
      for (uint32_t i = launch.first; launch.merged && i < launch.end; ++i) {
        info_.operations[index_of(program.operations[i].instance)].launch = name_of(program, launch);
      }
    }
  }
  for (Instance& instance : graph.instances) {  // lanes point to each other's until here
    if (instance.executable) executables_.push_back(std::move(instance.executable));
  }
  return lanes;
}

}  // namespace sheaf
