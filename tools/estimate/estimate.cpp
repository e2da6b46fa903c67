#include "tools/estimate/estimate.h"

#include "runtime/base/index.h"
#include "runtime/bind/planned_launches.h"
#include "runtime/device/launch_count.h"
#include "tools/estimate/measures.h"
#include "tools/estimate/planned_program.h"
#include "tools/inspect/graph.h"

#include <algorithm>
#include <map>
#include <vector>

namespace sheaf {
namespace {

struct NamedProgram {
  const char* name;
  const Program* program;
  const Program* graph;  ///< the same with one step per layer; identifies inserted nodes
};

NamedProgram named(const Plan& plan, const Program& program) {
  const NamedProgram all[] = {{"train", &plan.train, &plan.train_graph},
                              {"accumulate", &plan.accumulate, &plan.accumulate_graph},
                              {"update", &plan.update, &plan.update_graph},
                              {"forward", &plan.forward, &plan.forward_graph},
                              {"backward", &plan.backward, &plan.backward_graph}};
  for (const NamedProgram& one : all) {
    if (one.program == &program) return one;
  }
  return {"infer", &program, &program == &plan.infer ? &plan.infer_graph : &program};
}

Result<void> add_movements(const Plan& plan, const Program& program, Estimate& estimate) {
  const Program& logical = *named(plan, program).graph;
  SHEAF_ASSIGN(auto graph,
               expand(plan, logical.steps.empty() ? program : logical, estimate.list, estimate.batch, estimate.shards));
  for (const PlacementNode& node : graph.nodes) {
    if (!node.inserted) continue;
    const int64_t bytes = node.bytes_moved ? node.bytes_moved->constant : 0;
    estimate.movements.push_back({node.id, node.op, node.layer, node.device, node.reason, node.chunks, bytes});
    estimate.bytes_moved += bytes;
  }
  return {};
}

void add_costs(const Plan& plan, const Program& program, const BoundProgram& bound, Estimate& estimate) {
  std::map<std::string, size_t> layers;
  for (InstanceId i : bound.instances.ids()) {
    const OperationInfo& info = estimate.operations[i.index()];
    const Instance& instance = bound.instances[i];
    Cost cost = cost_of(plan, program, info);
    if (instance.call()) cost.read_bytes += bytes_again_of(instance.call()->executable.get());
    estimate.costs.push_back(cost);
    estimate.cost += cost;
    if (instance.left_out() || instance.is<Instance::Print>()) continue;
    const auto [at, fresh] = layers.emplace(info.layer, estimate.layers.size());
    if (fresh) estimate.layers.push_back({info.layer, {}, 0, 0, Bound::memory});
    estimate.layers[at->second].cost += cost;
    ++estimate.layers[at->second].operations;
  }
}

void add_given(const BoundProgram& bound, Estimate& estimate) {
  for (const Tensor& tensor : bound.tensors) {
    if (tensor.lies<Tensor::Given>()) estimate.input_bytes += tensor.spec.bytes;
  }
  for (TensorId output : bound.outputs) estimate.output_bytes += bound.tensors[output].spec.bytes;
}

/// What is assumed about absent devices, and what is unknown about their operations.
void add_assumptions(const DeviceSet& devices, Estimate& estimate) {
  estimate.planned = planned_devices(devices);
  estimate.transport = to_string(devices.transport());
  for (const OperationInfo& operation : estimate.operations) {
    if (operation.uncertain.empty()) continue;
    auto known = std::find_if(estimate.uncertain.begin(), estimate.uncertain.end(), [&](const UncertainMemory& other) {
      return other.op == operation.op && other.why == operation.uncertain;
    });
    if (known == estimate.uncertain.end()) known = estimate.uncertain.insert(known, {operation.op, operation.uncertain, {}, 0});
    ++known->operations;
    if (std::find(known->devices.begin(), known->devices.end(), operation.lane) == known->devices.end())
      known->devices.push_back(operation.lane);
  }
}

}  // namespace

std::vector<PlannedDevice> planned_devices(const DeviceSet& devices) {
  std::vector<PlannedDevice> planned;
  for (LaneId lane : devices.lanes()) {
    if (devices.messenger(lane)) continue;  // of an entry that is among them
    if (const std::string& why = devices.device(lane).info().planned; !why.empty())
      planned.push_back({devices.name(lane), why});
  }
  return planned;
}

Result<Estimate> estimate(const Plan& plan, const Program& program, const std::vector<std::string>& list,
                          const DeviceSet& devices, int64_t batch, const EstimateOptions& options) {
  SHEAF_ASSIGN(const auto planned, plan_program(plan, program, devices, batch, options.bind));
  return estimate_planned(plan, program, planned, list, devices, batch, options);
}

Result<Estimate> estimate_planned(const Plan& plan, const Program& program, const PlannedProgram& planned,
                                  const std::vector<std::string>& list, const DeviceSet& devices, int64_t batch,
                                  const EstimateOptions& options) {
  const BoundProgram& bound = planned.binding.program;
  const DeviceDescriptions description = options.description ? *options.description : guessed_devices(options.device_model);
  Estimate result;
  result.model = plan.name;
  result.program = named(plan, program).name;
  result.list = list;
  result.batch = batch;
  result.shards = devices.shards();
  std::vector<const DeviceInfo*> all;
  for (LaneId lane : devices.lanes()) all.push_back(&devices.device(lane).info());
  result.description = description.source_for(all);
  result.operations = describe_operations(bound, program, devices);
  result.memory = memory_profile(planned.binding, result.operations, program, devices);
  result.parameter_bytes = planned.store->parameter_bytes();
  result.derived_bytes = planned.store->derived_bytes();
  add_assumptions(devices, result);
  add_given(bound, result);
  add_costs(plan, program, bound, result);
  for (const int launches : planned_launches(planned.binding, plan, program, devices)) result.launches.push_back(launches);
  add_memory(plan, planned, program, devices, result);
  add_times(plan, planned.binding, devices, description, options.other_threads, result);
  const size_t shown = shown_lanes(planned.binding.schedule, devices).size();
  result.devices.resize(shown);
  result.memory.resize(shown);
  SHEAF_TRY(add_movements(plan, program, result));
  return result;
}

}  // namespace sheaf
