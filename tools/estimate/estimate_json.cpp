#include "tools/estimate/print_estimate.h"
#include "runtime/plan/names.h"
#include "tools/estimate/planned_program.h"

namespace sheaf {
namespace {

Json json_of(const MemoryByPurpose& bytes) {
  Json json = Json::object();
  for (size_t i = 0; i < kPurposes; ++i) json[std::string(name_of(static_cast<Value::Purpose>(i)))] = bytes[i];
  return json;
}

Json json_of(const Cost& cost) {
  return {{"flops", cost.flops}, {"read_bytes", cost.read_bytes}, {"written_bytes", cost.written_bytes}};
}

Json json_of(const LiveTensor& tensor) {
  Json json = {{"name", tensor.name}, {"class", std::string(name_of(tensor.kind))}, {"bytes", tensor.bytes}};
  if (!tensor.layer.empty()) json["layer"] = tensor.layer;
  if (!tensor.shape.empty()) json["shape"] = tensor.shape;
  return json;
}

Json json_of(const DeviceEstimate& device, const Estimate& estimate) {
  Json json = {{"device", device.device},
               {"threads", device.threads},
               {"peak_bytes", device.peak_bytes},
               {"arena_bytes", device.arena_bytes},
               {"arena_bound_bytes", device.arena_bound},
               {"lasting", json_of(device.lasting)},
               {"at_peak", json_of(device.at_peak)},
               {"most", json_of(device.most)}};
  Json peak = nullptr;
  if (device.peak_operation >= 0) {
    const OperationInfo& operation = estimate.operations[static_cast<size_t>(device.peak_operation)];
    peak = {{"step", operation.step}, {"op", to_string(operation.op)}, {"layer", operation.layer}};
    if (operation.replica >= 0) peak["replica"] = operation.replica;
  }
  json["peak"] = std::move(peak);
  json["largest"] = Json::array();
  for (const LiveTensor& tensor : device.largest) json["largest"].push_back(json_of(tensor));
  json["work"] = json_of(device.cost);
  json["work"]["operations"] = device.operations;
  if (device.launches > 0) json["work"]["launches"] = device.launches;
  if (!estimate.no_times.empty()) return json;
  json["seconds"] = {{"compute", device.compute_seconds},
                     {"memory", device.memory_seconds},
                     {"communication", device.communication_seconds},
                     {"overhead", device.overhead_seconds},
                     {"busy", device.busy_seconds}};
  return json;
}

Json json_of(const MovementEstimate& movement) {
  Json json = {{"id", movement.id}, {"op", movement.op}, {"layer", movement.layer}, {"device", movement.device}};
  if (!movement.chunks.empty()) json["chunks"] = movement.chunks;
  json["bytes_moved"] = movement.bytes_moved;
  json["reason"] = movement.reason;
  return json;
}

Json json_of(const LayerEstimate& layer, bool timed) {
  Json json = {{"layer", layer.layer}};
  json.update(json_of(layer.cost));
  json["operations"] = layer.operations;
  if (!timed) return json;
  json["seconds"] = layer.seconds;
  json["bound"] = name_of(layer.bound);
  return json;
}

Json json_of(const KindEstimate& kind, bool timed) {
  Json json = {{"op", to_string(kind.op)}};
  json.update(json_of(kind.cost));
  json["operations"] = kind.operations;
  if (kind.launches > 0) json["launches"] = kind.launches;
  if (!timed) return json;
  json["seconds"] = kind.seconds;
  json["bound"] = name_of(kind.bound);
  return json;
}

Json json_of(const LargestBatch& largest) {
  Json json = {{"memory_bytes", largest.memory_bytes}, {"batch", largest.batch},         {"at_least", largest.at_least},
               {"peak_bytes", largest.peak_bytes},     {"monotonic", largest.monotonic}, {"plans", largest.plans}};
  if (!largest.limit.empty()) json["limit"] = largest.limit;
  return json;
}

}  // namespace

std::string estimate_json(const Estimate& estimate, const LargestBatch* largest) {
  Json json = {
      {"model", estimate.model}, {"program", estimate.program}, {"device_list", estimate.list}, {"batch", estimate.batch}};
  if (estimate.shards > 0) json["shards"] = estimate.shards;
  Json devices = Json::array(), movements = Json::array(), layers = Json::array();
  size_t memory = 0;
  for (const DeviceEstimate& device : estimate.devices) {
    devices.push_back(json_of(device, estimate));
    memory += device.peak_bytes;
  }
  for (const MovementEstimate& movement : estimate.movements) movements.push_back(json_of(movement));
  for (const LayerEstimate& layer : estimate.layers) layers.push_back(json_of(layer, estimate.no_times.empty()));
  json["memory"] = {{"total_bytes", memory},
                    {"parameter_bytes", estimate.parameter_bytes},
                    {"derived_bytes", estimate.derived_bytes},
                    {"input_bytes", estimate.input_bytes},
                    {"output_bytes", estimate.output_bytes}};
  json["devices"] = std::move(devices);
  json["work"] = json_of(estimate.cost);
  json["layers"] = std::move(layers);
  json["kinds"] = Json::array();
  for (const KindEstimate& kind : estimate.kinds) json["kinds"].push_back(json_of(kind, estimate.no_times.empty()));
  json["bytes_moved"] = estimate.bytes_moved;
  json["movements"] = std::move(movements);
  for (const PlannedDevice& device : estimate.planned)
    json["planned"].push_back({{"device", device.device}, {"why", device.why}});
  if (!estimate.transport.empty()) json["transport"] = estimate.transport;
  for (const UncertainMemory& part : estimate.uncertain) {
    json["memory"]["uncertain"].push_back(
        {{"op", to_string(part.op)}, {"operations", part.operations}, {"devices", part.devices}, {"why", part.why}});
  }
  const double rows = estimate.step_seconds > 0 ? static_cast<double>(estimate.batch) / estimate.step_seconds : 0;
  if (!estimate.no_times.empty()) json["time"] = {{"none", estimate.no_times}};
  else json["time"] = {{"step_seconds", estimate.step_seconds}, {"samples_per_s", rows}, {"description", estimate.description}};
  if (largest) json["largest_batch"] = json_of(*largest);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf
