#include "tools/estimate/estimate.h"

#include "runtime/base/index.h"
#include "tools/estimate/measures.h"
#include "tools/estimate/planned_program.h"
#include "tools/inspect/graph.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

struct NamedProgram {
  const char* name;
  const Program* program;
  const Program* graph;  ///< the same with one step a layer: what inserted nodes are told from
};

NamedProgram named(const Plan& plan, const Program& program) {
  const NamedProgram all[] = {{"train", &plan.train, &plan.train_graph},
                              {"accumulate", &plan.accumulate, &plan.accumulate_graph},
                              {"update", &plan.update, &plan.update_graph}};
  for (const NamedProgram& one : all) {
    if (one.program == &program) return one;
  }
  return {"infer", &program, &program == &plan.infer ? &plan.infer_graph : &program};
}

Result<void> add_movements(const Plan& plan, const Program& program, Estimate& estimate) {
  const Program& logical = *named(plan, program).graph;
  SHEAF_ASSIGN(auto graph, expand(plan, logical.steps.empty() ? program : logical, estimate.list, estimate.batch));
  for (const PlacementNode& node : graph.nodes) {
    if (!node.inserted) continue;
    const int64_t bytes = node.bytes_moved ? node.bytes_moved->constant : 0;
    estimate.movements.push_back({node.id, node.op, node.layer, node.device, node.reason, node.chunks, bytes});
    estimate.bytes_moved += bytes;
  }
  return {};
}

void add_costs(const Plan& plan, const Program& program, const Graph& graph, Estimate& estimate) {
  std::map<std::string, size_t> layers;
  for (size_t i = 0; i < graph.instances.size(); ++i) {
    const OperationInfo& info = estimate.operations[i];
    const Instance& instance = graph.instances[i];
    Cost cost;
    if (!instance.elided) {
      // What binding inserts is no step of the program's, or does not what the step that it belongs to does.
      Step inserted;
      inserted.op = info.op;
      const bool own = info.step < 0 || program.steps[index_of(info.step)].op != info.op;
      cost = operation_cost(plan, own ? inserted : program.steps[index_of(info.step)], info.input_specs, info.output_specs);
    }
    estimate.costs.push_back(cost);
    estimate.cost += cost;
    if (instance.elided || instance.kind == Instance::print) continue;
    const auto [at, fresh] = layers.emplace(info.layer, estimate.layers.size());
    if (fresh) estimate.layers.push_back({info.layer, {}, 0, 0, Bound::memory});
    estimate.layers[at->second].cost += cost;
    ++estimate.layers[at->second].operations;
  }
}

void add_given(const Graph& graph, Estimate& estimate) {
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.input >= 0) estimate.input_bytes += tensor.spec.bytes;
  }
  for (int output : graph.outputs) estimate.output_bytes += graph.tensors[index_of(output)].spec.bytes;
}

/// What is assumed of devices that aren't there, and what of their operations stays open.
void add_assumptions(const DeviceSet& devices, Estimate& estimate) {
  estimate.planned = planned_devices(devices);
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
  for (int lane = 0; lane < devices.lanes(); ++lane) {
    if (const std::string& why = devices.device(lane).info().planned; !why.empty())
      planned.push_back({devices.name(lane), why});
  }
  return planned;
}

Result<Estimate> estimate(const Plan& plan, const Program& program, const std::vector<std::string>& list,
                          const DeviceSet& devices, int64_t batch, const EstimateOptions& options) {
  SHEAF_ASSIGN(auto planned, plan_program(plan, program, devices, batch, options.bind));
  const Graph& graph = planned.binding.graph;
  const DeviceDescriptions description = options.description ? *options.description : guessed_devices();
  Estimate result;
  result.model = plan.name;
  result.program = named(plan, program).name;
  result.list = list;
  result.batch = batch;
  result.description = description.source;
  result.operations = describe_operations(graph, program, devices);
  result.memory = memory_profile(graph, planned.binding.memory, result.operations, program, devices);
  result.parameter_bytes = planned.constants->parameter_bytes();
  result.derived_bytes = planned.constants->derived_bytes();
  add_assumptions(devices, result);
  add_given(graph, result);
  add_costs(plan, program, graph, result);
  add_memory(plan, planned, program, devices, result);
  add_times(graph, devices, description, result);
  SHEAF_TRY(add_movements(plan, program, result));
  return result;
}

}  // namespace sheaf
