#include "runtime/bind/expand.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

const Step* first_reader(const Program& program, int value) {
  for (const Step& step : program.steps) {
    if (std::find(step.inputs.begin(), step.inputs.end(), value) != step.inputs.end()) return &step;
  }
  return nullptr;
}

}  // namespace

Expansion::Expansion(const BindContext& context, SymbolTable symbols, std::vector<std::vector<int>> region_entries)
    : context_(context), symbols_(std::move(symbols)), region_entries_(std::move(region_entries)) {
  const DeviceSet& devices = context.devices;
  bool fuses = false;
  for (int lane = 0; lane < devices.lanes(); ++lane) fuses |= devices.device(lane).info().fuses_norms;
  if (fuses) fusions_ = NormFusions(context.program);
}

Result<Graph> expand(const BindContext& context) {
  std::vector<std::vector<int>> region_entries;
  std::vector<int64_t> counts;
  for (const Region& region : context.plan.regions) {
    SHEAF_ASSIGN(auto entries, context.devices.region_entries(region));
    counts.push_back(static_cast<int64_t>(entries.size()));
    region_entries.push_back(std::move(entries));
  }
  SHEAF_ASSIGN(auto symbols, SymbolTable::build(context.plan, context.program, context.batch, counts));
  return Expansion(context, std::move(symbols), std::move(region_entries)).run();
}

Result<Graph> Expansion::run() {
  value_tensors_.resize(context_.program.values.size());
  SHEAF_TRY(add_sources());
  for (size_t i = 0; i < context_.program.steps.size(); ++i) {
    SHEAF_TRY(add_step(static_cast<int>(i)));
    SHEAF_TRY(add_guard(static_cast<int>(i)));
  }
  SHEAF_TRY(add_outputs());
  SHEAF_TRY(add_updates());
  graph_.values = std::move(value_tensors_);
  return std::move(graph_);
}

Result<std::vector<Expansion::Spot>> Expansion::spots(const Place& place, const std::string& layer,
                                                      const Location& location) const {
  const DeviceSet& devices = context_.devices;
  std::vector<Spot> result;
  if (place.kind == Place::host || (place.kind == Place::device && devices.host_only())) {
    result.push_back({});
  } else if (place.kind == Place::device) {
    if (place.index < 0 || place.index >= devices.entries()) {
      Error error(location, "layer '" + layer + "' is placed on device " + std::to_string(place.index) +
                                ", beyond the device list, which has " + std::to_string(devices.entries()) +
                                (devices.entries() == 1 ? " entry" : " entries"));
      // A parameter has no place in the model file of its own: the first step there has.
      for (const Step& step : context_.program.steps)
        if (step.place == place && error.diagnostics[0].location.line == 0) error.diagnostics[0].location = step.location;
      return error.note("indices count from 0; list more devices, or `cpu` alone to run everything on the host");
    }
    result.push_back({0, place.index, devices.lane_of_entry(place.index), false});
  } else {
    const std::vector<int>& entries = region_entries_[index_of(place.index)];
    for (int i = 0; i < static_cast<int>(symbols_.replicas(place.index)); ++i) {
      const int entry = devices.host_only() ? -1 : entries[index_of(i)];
      result.push_back({i, entry, entry < 0 ? 0 : devices.lane_of_entry(entry), true});
    }
  }
  return result;
}

Error Expansion::located(Error error, const Step& step, const Spot& spot) const {
  if (spot.in_region && !context_.devices.host_only()) {
    error.diagnostics[0].message = "replica " + std::to_string(spot.replica) + " on device " +
                                   context_.devices.entry_name(spot.entry) + ": " + error.diagnostics[0].message;
  }
  if (error.diagnostics[0].location.file.empty()) error.diagnostics[0].location = step.location;
  if (!step.layer.empty() && error.diagnostics[0].message.find("'" + step.layer + "'") == std::string::npos) {
    error.note("in layer '" + step.layer + "', operation " + op_name(step));
  }
  return error;
}

Result<TensorSpec> Expansion::value_spec(int value, int replica) const {
  const Value& described = context_.program.values[index_of(value)];
  SHEAF_ASSIGN(auto dims, symbols_.dims(described, replica));
  return plain_tensor(described.dtype, std::move(dims));
}

int Expansion::add_tensor(TensorSpec spec, std::string name, int lane) {
  Tensor tensor;
  tensor.spec = std::move(spec);
  tensor.name = std::move(name);
  tensor.lane = lane;
  graph_.tensors.push_back(std::move(tensor));
  reordered_.emplace_back();
  return static_cast<int>(graph_.tensors.size()) - 1;
}

int Expansion::add_view(int of, size_t delta, TensorSpec spec, std::string name, int lane) {
  const int view = add_tensor(std::move(spec), std::move(name), lane);
  Tensor& tensor = graph_.tensors[index_of(view)];
  tensor.base = of;
  tensor.delta = delta;
  tensor.writers = graph_.tensors[index_of(of)].writers;
  return view;
}

Instance& Expansion::add_instance(Instance::Kind kind, int step, const Spot& spot) {
  Instance instance;
  instance.kind = kind;
  instance.step = step;
  instance.replica = spot.in_region ? spot.replica : -1;
  instance.entry = spot.entry;
  instance.lane = spot.lane;
  graph_.instances.push_back(std::move(instance));
  return graph_.instances.back();
}

int Expansion::at(int value, int replica) const {
  const auto& tensors = value_tensors_[index_of(value)];
  return tensors.size() == 1 ? tensors[0] : tensors[index_of(replica)];
}

void Expansion::define(int value, int replica, int tensor) {
  auto& tensors = value_tensors_[index_of(value)];
  if (tensors.size() <= index_of(replica)) tensors.resize(index_of(replica) + 1, -1);
  tensors[index_of(replica)] = tensor;
}

bool Expansion::is_constant(int tensor) const {
  const Tensor& root = graph_.tensors[index_of(graph_.root(tensor).tensor)];
  return root.node >= 0 && !root.variable;
}

ConstantRef Expansion::constant_ref(int tensor) const {
  const Root root = graph_.root(tensor);
  return {graph_.tensors[index_of(root.tensor)].node, root.offset};
}

Result<void> Expansion::add_sources() {
  int inputs = 0;
  for (size_t i = 0; i < context_.program.values.size(); ++i) {
    const Value& value = context_.program.values[i];
    const int id = static_cast<int>(i);
    if (value.role == Value::temporary) continue;
    const Step* reader = first_reader(context_.program, id);
    SHEAF_ASSIGN(auto places, spots(value.place, reader ? reader->layer : value.name, reader ? reader->location : Location{}));
    const bool given = value.role == Value::input || value.role == Value::target || value.role == Value::setting;
    for (const Spot& spot : places) {
      SHEAF_ASSIGN(auto source, given ? add_input(id, inputs) : add_weight(value.source, spot));
      SHEAF_ASSIGN(auto local, moved(source, value.name, -1, spot));
      define(id, spot.replica, local);
    }
    inputs += given ? 1 : 0;
  }
  return {};
}

Result<int> Expansion::add_input(int value, int number) {
  SHEAF_ASSIGN(auto spec, value_spec(value, 0));
  const int tensor = add_tensor(std::move(spec), context_.program.values[index_of(value)].name, 0);
  graph_.tensors[index_of(tensor)].input = number;
  return tensor;
}

Result<void> Expansion::add_step(int index) {
  const Step& step = context_.program.steps[index_of(index)];
  const Op op = step.op;
  const Movement movement = traits(op).movement;
  switch (movement.carries) {
    case Carries::nothing: break;
    case Carries::chunks: return movement.route == Route::to_replicas ? scatter(index) : gather(index);
    case Carries::whole: return replicate(index);
    case Carries::summands: return reduce(index);
  }
  SHEAF_ASSIGN(auto places, spots(step.place, step.layer, step.location));
  for (const Spot& spot : places) {
    Result<void> done = op == Op::view ? view(index, spot) : op == Op::print ? print(index, spot) : launch_step(index, spot);
    if (!done) return located(std::move(done.error()), step, spot);
  }
  return {};
}

Result<void> Expansion::add_outputs() {
  for (const Output& output : context_.program.outputs) {
    const Value& value = context_.program.values[index_of(output.value)];
    SHEAF_ASSIGN(auto places, spots(value.place, value.name, {}));
    SHEAF_ASSIGN(auto plain, in_plain(at(output.value, 0), -1, places.front()));
    graph_.outputs.push_back(plain);
  }
  return {};
}

}  // namespace sheaf
