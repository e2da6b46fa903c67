#include "runtime/bind/expand/replicas.h"

namespace sheaf {

Replicas::Replicas(const BindContext& context, SymbolTable symbols, std::vector<std::vector<int>> region_entries)
    : context_(context),
      symbols_(std::move(symbols)),
      region_entries_(std::move(region_entries)),
      keeps_shares_(region_entries_.size(), false) {
  for (const Value& value : context.program.values)
    if (value.layout.kind == ValueLayout::sharded) keeps_shares_[static_cast<size_t>(value.place.index)] = true;
}

Result<Replicas> Replicas::find(const BindContext& context) {
  if (context.devices.shards() > 0 && context.plan.regions.empty()) {
    return Error({context.plan.file},
                 "'" + context.plan.name + "' has no DataParallel layer: there is nothing to cut into shards")
        .note("leave out --shards: without parallel regions all devices compute with whole batches");
  }
  std::vector<std::vector<int>> region_entries;
  std::vector<int64_t> counts;
  for (const Region& region : context.plan.regions) {
    SHEAF_ASSIGN(auto entries, context.devices.region_entries(region));
    counts.push_back(static_cast<int64_t>(entries.size()));
    region_entries.push_back(std::move(entries));
  }
  SHEAF_ASSIGN(auto symbols, SymbolTable::build(context.plan, context.program, context.batch, counts));
  return Replicas(context, std::move(symbols), std::move(region_entries));
}

Result<std::vector<Spot>> Replicas::spots(const Place& place, const std::string& layer, const Location& location) const {
  const DeviceSet& devices = context_.devices;
  if (place.kind == Place::host || (place.kind == Place::device && devices.host_only())) return std::vector<Spot>{{}};
  if (place.kind == Place::device) {
    if (place.index < 0 || place.index >= devices.entries()) return beyond_list(place, layer, location);
    return std::vector<Spot>{{0, place.index, devices.lane_of_entry(place.index), false}};
  }
  return region_spots(place.index, symbols_.replicas(place.index));
}

std::vector<Spot> Replicas::region_spots(int region, int64_t count) const {
  const DeviceSet& devices = context_.devices;
  std::vector<Spot> result;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const int entry = devices.host_only() ? -1 : region_entries_[static_cast<size_t>(region)][static_cast<size_t>(i)];
    result.push_back({i, entry, entry < 0 ? kHostLane : devices.lane_of_entry(entry), true});
  }
  return result;
}

Result<std::vector<Spot>> Replicas::spots(const Value& value, const std::string& layer, const Location& location) const {
  const bool on_all = value.layout.kind == ValueLayout::replicated || value.layout.kind == ValueLayout::sharded;
  if (value.place.kind == Place::region && on_all && keeps_shares_[static_cast<size_t>(value.place.index)])
    return region_spots(value.place.index, symbols_.members(value.place.index));
  return spots(value.place, layer, location);
}

Result<std::vector<Spot>> Replicas::spots(const Step& step) const {
  return spots(context_.value(ValueId(step.outputs[0])), step.layer, step.location);
}

Error Replicas::beyond_list(const Place& place, const std::string& layer, const Location& location) const {
  const int entries = context_.devices.entries();
  Error error(location, "layer '" + layer + "' is placed on device " + std::to_string(place.index) +
                            ", beyond the device list, which has " + std::to_string(entries) +
                            (entries == 1 ? " entry" : " entries"));
  // A parameter has no place of its own in the model file; the first step on it does.
  for (const Step& step : context_.program.steps)
    if (step.place == place && error.diagnostics[0].location.line == 0) error.diagnostics[0].location = step.location;
  return error.note("indices count from 0; list more devices, or `cpu` alone to run everything on the host");
}

Result<TensorSpec> Replicas::spec(ValueId value, int replica) const {
  const Value& described = context_.value(value);
  SHEAF_ASSIGN(auto dims, symbols_.dims(described, replica));
  return plain_tensor(described.dtype, std::move(dims));
}

Result<int64_t> Replicas::evaluate(const Extent& extent, const Place& place, const Spot& spot) const {
  return symbols_.evaluate(extent, place, spot.replica);
}

Error Replicas::located(Error error, const Step& step, const Spot& spot) const {
  Diagnostic& cause = error.diagnostics[0];
  if (spot.in_region && !context_.devices.host_only()) {
    cause.message = "replica " + std::to_string(spot.replica) + " on device " + context_.devices.entry_name(spot.entry) + ": " +
                    cause.message;
  }
  if (!cause.location.file.empty()) return error;  // which names the layer, as prepare_on() does
  cause.location = step.location;
  if (!step.layer.empty()) error.note("in layer '" + step.layer + "', operation " + op_name(step));
  return error;
}

}  // namespace sheaf
