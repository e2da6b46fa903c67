#include "tools/explain/explain.h"

#include "runtime/plan/kernel_lookup.h"

#include "tools/explain/operations.h"
#include "tools/explain/select.h"
#include "tools/inspect/dump.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

bool is_frame(const PlacementNode& node) { return node.kind != PlacementNode::operation; }

std::string description_of(const Plan& plan, const Step& step) {
  const Kernel* kernel = find_kernel(plan, step.kernel);
  return kernel ? kernel->description : "";
}

/// Layers in the order of their first node, each with its nodes.
std::vector<ExplainedLayer> layers_of(const PlacementGraph& graph) {
  std::vector<ExplainedLayer> layers;
  std::map<std::string, size_t> index;
  for (const PlacementNode& node : graph.nodes) {
    if (is_frame(node)) continue;
    const auto [found, made] = index.try_emplace(node.layer, layers.size());
    if (made) layers.push_back({node.layer, {}, {}, {}});
    layers[found->second].nodes.push_back(node);
  }
  return layers;
}

/// Why a layer has no step left, as its step of the logical program says.
std::string why_vanished(const Program& graph, const std::string& layer) {
  for (const Step& step : graph.steps)
    if (step.layer == layer && !moves(step.op) && !step.notes.empty()) return step.notes.front();
  return "the compiler simplified it away";
}

/// Each layer gets its own steps, and the other layers' steps that do its work.
void add_steps(const Plan& plan, const Program& program, const Program& graph, std::vector<ExplainedLayer>& layers) {
  std::map<std::string, ExplainedLayer*> by_name;
  for (ExplainedLayer& layer : layers) by_name[layer.layer] = &layer;
  for (const Step& step : program.steps) {
    if (const auto found = by_name.find(step.layer); found != by_name.end())
      found->second->steps.push_back({&step, description_of(plan, step), true, {}, {}});
    for (const std::string& fused : step.fused)
      if (const auto found = by_name.find(fused); found != by_name.end() && fused != step.layer)
        found->second->steps.push_back({&step, description_of(plan, step), false, {}, {}});
  }
  for (ExplainedLayer& layer : layers) {
    const auto computes = [](const PlacementNode& node) { return !node.inserted; };
    if (!layer.steps.empty() || std::none_of(layer.nodes.begin(), layer.nodes.end(), computes)) continue;
    layer.vanished = why_vanished(graph, layer.layer);
  }
}

std::vector<std::string> known_ops(const std::vector<ExplainedLayer>& layers) {
  std::vector<std::string> known;
  for (const ExplainedLayer& layer : layers) {
    for (const PlacementNode& node : layer.nodes) known.push_back(node.op);
    for (const ExplainedStep& step : layer.steps) {
      known.push_back(to_string(step.step->op));
      for (const ExplainedOperation& operation : step.operations) known.push_back(to_string(operation.op));
    }
  }
  return known;
}

bool has_op(const ExplainedLayer& layer, const std::string& op) {
  const auto in_node = [&](const PlacementNode& node) { return node.op == op; };
  const auto in_step = [&](const ExplainedStep& step) {
    const auto in_operation = [&](const ExplainedOperation& operation) { return to_string(operation.op) == op; };
    return to_string(step.step->op) == op || std::any_of(step.operations.begin(), step.operations.end(), in_operation);
  };
  return std::any_of(layer.nodes.begin(), layer.nodes.end(), in_node) ||
         std::any_of(layer.steps.begin(), layer.steps.end(), in_step);
}

/// Only what is on `device`, down to the operations. A list of one device shares its lane with the host, so operations don't
/// tell the two apart.
bool restrict_to(const std::string& device, bool shared_lane, ExplainedLayer& layer) {
  std::erase_if(layer.nodes, [&](const PlacementNode& node) { return node.device != device; });
  for (ExplainedStep& step : layer.steps) {
    if (shared_lane) break;
    std::erase_if(step.operations, [&](const ExplainedOperation& operation) {
      return std::find(operation.devices.begin(), operation.devices.end(), device) == operation.devices.end();
    });
  }
  return !layer.nodes.empty();
}

Result<void> restrict_to(const ExplainRequest& request, const PlacementGraph& graph, std::vector<ExplainedLayer>& layers) {
  if (!request.layer.empty()) {
    std::vector<std::string> names;
    for (const ExplainedLayer& layer : layers) names.push_back(layer.layer);
    SHEAF_ASSIGN(auto selected, select_layers(names, request.layer));
    std::erase_if(layers, [&](const ExplainedLayer& layer) { return !selected.contains(layer.layer); });
  }
  if (!request.op.empty()) {
    SHEAF_ASSIGN(auto op, select_name("op", request.op, known_ops(layers)));
    std::erase_if(layers, [&](const ExplainedLayer& layer) { return !has_op(layer, op); });
  }
  if (request.device.empty()) return {};
  std::vector<std::string> devices = graph.devices;
  for (const PlacementNode& node : graph.nodes) devices.push_back(node.device);
  SHEAF_ASSIGN(auto device, select_name("device", request.device, devices));
  std::erase_if(layers, [&](ExplainedLayer& layer) { return !restrict_to(device, graph.devices.size() == 1, layer); });
  return {};
}

}  // namespace

DumpOptions graph_options(const ExplainRequest& request) {
  DumpOptions options;
  options.devices = request.devices;
  options.batch = request.batch;
  options.program = request.program;
  options.shards = request.bind.shards;
  return options;
}

Result<Explanation> explain(const Plan& plan, const ExplainRequest& request) {
  const DumpOptions shown = graph_options(request);
  SHEAF_ASSIGN(auto graph, placement_graph(plan, shown));
  Explanation result;
  result.model = graph.model;
  result.program = request.program;
  result.devices = graph.devices;
  result.batch = graph.batch;
  result.regions = graph.regions;
  result.layers = layers_of(graph);
  const bool trains = request.program == "train";
  add_steps(plan, trains ? plan.train : plan.infer, trains ? plan.train_graph : plan.infer_graph, result.layers);
  if (!request.devices.empty()) {
    SHEAF_ASSIGN(auto planned, add_operations(plan, request, result.layers));
    result.planned = std::move(planned);
  }
  SHEAF_TRY(restrict_to(request, graph, result.layers));
  return result;
}

}  // namespace sheaf
