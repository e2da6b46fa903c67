#include "tools/explain/explain.h"
#include "tools/inspect/print.h"

namespace sheaf {
namespace {

Json location_json(const Location& location) {
  if (location.line == 0) return nullptr;
  return {{"file", location.file}, {"line", location.line}, {"column", location.column}};
}

Json operand_json(const ExplainedOperand& operand) {
  return {{"role", operand.role},
          {"value", operand.value},
          {"shape", operand.tensor.dims},
          {"dtype", name_of(operand.tensor.dtype)},
          {"format", operand.format()},
          {"bytes", operand.tensor.bytes},
          {"from_weights", operand.from_weights}};
}

Json operands_json(const std::vector<ExplainedOperand>& operands) {
  Json list = Json::array();
  for (const ExplainedOperand& operand : operands) list.push_back(operand_json(operand));
  return list;
}

Json operation_json(const ExplainedOperation& operation) {
  Json json = {{"op", to_string(operation.op)},
               {"devices", operation.devices},
               {"replicas", operation.replicas},
               {"implementation", operation.implementation},
               {"reason", operation.reason},
               {"inputs", operands_json(operation.inputs)},
               {"outputs", operands_json(operation.outputs)},
               {"flops", operation.cost.flops},
               {"read_bytes", operation.cost.read_bytes},
               {"written_bytes", operation.cost.written_bytes}};
  if (!operation.uncertain.empty()) json["uncertain"] = operation.uncertain;
  return json;
}

Json step_json(const ExplainedStep& explained) {
  const Step& step = *explained.step;
  Json operations = Json::array();
  for (const ExplainedOperation& operation : explained.operations) operations.push_back(operation_json(operation));
  Json json = {{"op", to_string(step.op)}, {"layer", step.layer}, {"owned", explained.owned},
               {"fused", step.fused},      {"notes", step.notes}, {"once", step.once}};
  if (!step.kernel.empty()) json["kernel"] = step.kernel;
  if (!explained.kernel.empty()) json["description"] = explained.kernel;
  if (!explained.idle.empty()) json["idle"] = explained.idle;
  json["operations"] = std::move(operations);
  return json;
}

}  // namespace

Json to_json(const Explanation& explanation) {
  const bool expanded = !explanation.devices.empty();
  Json layers = Json::array();
  for (const ExplainedLayer& layer : explanation.layers) {
    Json nodes = Json::array(), steps = Json::array();
    for (const PlacementNode& node : layer.nodes) nodes.push_back(node_to_json(node, expanded));
    for (const ExplainedStep& step : layer.steps) steps.push_back(step_json(step));
    Json json = {{"layer", layer.layer},
                 {"location", layer.nodes.empty() ? Json() : location_json(layer.nodes[0].location)},
                 {"nodes", std::move(nodes)},
                 {"steps", std::move(steps)}};
    if (!layer.vanished.empty()) json["vanished"] = layer.vanished;
    layers.push_back(std::move(json));
  }
  Json json = {{"model", explanation.model}, {"program", explanation.program}};
  if (expanded) json["devices"] = explanation.devices;
  if (expanded) json["batch"] = explanation.batch;
  for (const PlannedDevice& device : explanation.planned)
    json["planned"].push_back({{"device", device.device}, {"why", device.why}});
  json["layers"] = std::move(layers);
  return json;
}

Json to_json(const Why& why) {
  return {{"node", node_to_json(why.node, why.node.replica >= 0 || !why.node.chunks.empty())},
          {"location", location_json(why.node.location)},
          {"chain", why.chain},
          {"before", why.before},
          {"after", why.after}};
}

}  // namespace sheaf
