#include "runtime/bind/expand.h"

#include <algorithm>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// An extent in a step's attributes: a number, or what to_string(Extent) prints.
Result<Extent> attribute_extent(const Json& json) {
  if (json.is_number_integer()) return Extent(json.get<int64_t>());
  if (json.is_string()) return parse_extent(json.get<std::string>());
  return Error("an extent is neither a number nor a string");
}

const Step* first_reader(const Program& program, int value) {
  for (const Step& step : program.steps) {
    if (std::find(step.inputs.begin(), step.inputs.end(), value) != step.inputs.end()) return &step;
  }
  return nullptr;
}

}  // namespace

Expansion::Expansion(const BindContext& context, SymbolTable symbols, std::vector<std::vector<int>> region_entries)
    : context_(context), symbols_(std::move(symbols)), region_entries_(std::move(region_entries)) {}

Result<Graph> expand(const BindContext& context) {
  std::vector<std::vector<int>> region_entries;
  std::vector<int64_t> counts;
  for (const Region& region : context.plan.regions) {
    auto entries = context.devices.region_entries(region);
    if (!entries) return entries.error();
    counts.push_back(static_cast<int64_t>(entries->size()));
    region_entries.push_back(std::move(*entries));
  }
  auto symbols = SymbolTable::build(context.plan, context.program, context.batch, counts);
  if (!symbols) return symbols.error();
  return Expansion(context, std::move(*symbols), std::move(region_entries)).run();
}

Result<Graph> Expansion::run() {
  value_tensors_.resize(context_.program.values.size());
  if (auto ok = add_sources(); !ok) return ok.error();
  for (size_t i = 0; i < context_.program.steps.size(); ++i) {
    if (auto ok = add_step(static_cast<int>(i)); !ok) return ok.error();
  }
  if (auto ok = add_outputs(); !ok) return ok.error();
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
    error.note("in layer '" + step.layer + "', operation " + step.op);
  }
  return error;
}

Result<TensorSpec> Expansion::value_spec(int value, int replica) const {
  const Value& described = context_.program.values[index_of(value)];
  auto dims = symbols_.dims(described, replica);
  if (!dims) return dims.error();
  return plain_tensor(described.dtype, std::move(*dims));
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
  return graph_.tensors[index_of(graph_.root(tensor).tensor)].node >= 0;
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
    auto places = spots(value.place, reader ? reader->layer : value.name, reader ? reader->location : Location{});
    if (!places) return places.error();
    const bool given = value.role == Value::input || value.role == Value::target;
    for (const Spot& spot : *places) {
      auto spec = value_spec(id, spot.replica);
      if (!spec) return spec.error();
      const int tensor = add_tensor(std::move(*spec), value.name, 0);
      if (given) {
        graph_.tensors[index_of(tensor)].input = inputs;
      } else {
        auto node = context_.constants.parameter(value.source);
        if (!node) return node.error();
        graph_.tensors[index_of(tensor)].node = *node;
      }
      auto local = moved(tensor, value.name, -1, spot);
      if (!local) return local.error();
      define(id, spot.replica, *local);
    }
    inputs += given ? 1 : 0;
  }
  return {};
}

Result<void> Expansion::add_step(int index) {
  const Step& step = context_.program.steps[index_of(index)];
  if (step.op == "scatter") return scatter(index);
  if (step.op == "gather") return gather(index);
  if (step.op == "replicate" || step.op == "transfer") return replicate(index);
  auto places = spots(step.place, step.layer, step.location);
  if (!places) return places.error();
  for (const Spot& spot : *places) {
    Result<void> done = step.op == "view"    ? view(index, spot)
                        : step.op == "print" ? print(index, spot)
                                             : launch_step(index, spot);
    if (!done) return located(std::move(done.error()), step, spot);
  }
  return {};
}

Result<void> Expansion::launch_step(int index, const Spot& spot) {
  const Step& step = context_.program.steps[index_of(index)];
  std::vector<int> inputs;
  std::vector<TensorSpec> input_specs, output_specs;
  const auto constant = std::make_unique<bool[]>(step.inputs.size());
  bool all_constant = true;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    inputs.push_back(at(step.inputs[i], spot.replica));
    input_specs.push_back(graph_.tensors[index_of(inputs.back())].spec);
    constant[i] = is_constant(inputs.back());
    all_constant &= constant[i];
  }
  bool any_work = false;
  for (int output : step.outputs) {
    auto spec = value_spec(output, spot.replica);
    if (!spec) return spec.error();
    any_work |= element_count(*spec) != 0;
    output_specs.push_back(std::move(*spec));
  }
  std::vector<int64_t> extents;
  int64_t work = 0;
  if (step.op == "kernel") {
    const auto value_of = [&](const Json& json) -> Result<int64_t> {
      auto extent = attribute_extent(json);
      if (!extent) return extent.error();
      return symbols_.evaluate(*extent, step.place, spot.replica);
    };
    for (const auto& json : step.attributes.value("extents", Json::array())) {
      auto value = value_of(json);
      if (!value) return value.error();
      extents.push_back(*value);
    }
    auto value = value_of(step.attributes.value("work", Json(0)));
    if (!value) return value.error();
    work = *value;
  }
  const auto prepare = [&]() -> Result<Prepared> {
    auto prepared = context_.devices.device(spot.lane).prepare(
        {step, context_.plan, input_specs, output_specs, context_.devices.threads(spot.lane), context_.fast_numerics,
         {constant.get(), step.inputs.size()}, context_.kernels[index_of(spot.lane)].get(), extents, work});
    if (prepared && (prepared->inputs.size() != inputs.size() || prepared->outputs.size() != output_specs.size())) {
      return Error("operation " + step.op + " was prepared for another number of operands");
    }
    return prepared;
  };
  if (!any_work) {  // an empty chunk: there is nothing to compute, and libraries need not know of it
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      define(step.outputs[i], spot.replica,
             add_tensor(output_specs[i], context_.program.values[index_of(step.outputs[i])].name, spot.lane));
    }
    return {};
  }
  if (step.once && all_constant) return once_step(index, spot, inputs, output_specs, prepare);

  auto prepared = prepare();
  if (!prepared) return prepared.error();
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto wanted = in_format(inputs[i], prepared->inputs[i], index, spot);
    if (!wanted) return wanted.error();
    inputs[i] = *wanted;
  }
  std::vector<int> outputs;
  const int id = static_cast<int>(graph_.instances.size());
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const Value& value = context_.program.values[index_of(step.outputs[i])];
    outputs.push_back(add_tensor(prepared->outputs[i], value.name, spot.lane));
    graph_.tensors[index_of(outputs.back())].writers = {id};
    define(step.outputs[i], spot.replica, outputs.back());
  }
  Instance& instance = add_instance(Instance::launch, index, spot);
  instance.inputs = std::move(inputs);
  instance.outputs = std::move(outputs);
  instance.executable = std::move(prepared->executable);
  instance.scratch_bytes = prepared->scratch_bytes;
  instance.can_fail = prepared->can_fail;
  instance.implementation = std::move(prepared->implementation);
  instance.in_place = std::move(prepared->in_place);
  return {};
}

Result<void> Expansion::once_step(int index, const Spot& spot, const std::vector<int>& inputs,
                                  const std::vector<TensorSpec>& outputs,
                                  const std::function<Result<Prepared>()>& prepare) {
  const Step& step = context_.program.steps[index_of(index)];
  std::vector<ConstantRef> refs;
  std::vector<TensorSpec> specs;
  for (int input : inputs) {
    refs.push_back(constant_ref(input));
    specs.push_back(graph_.tensors[index_of(input)].spec);
  }
  auto made = context_.constants.derive(index, refs, specs, context_.devices.device(spot.lane), prepare);
  if (!made) return made.error();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value& value = context_.program.values[index_of(step.outputs[i])];
    const int tensor = add_tensor(context_.constants.spec((*made)[i].node), value.name, spot.lane);
    graph_.tensors[index_of(tensor)].node = (*made)[i].node;
    define(step.outputs[i], spot.replica, tensor);
  }
  return {};
}

Result<int> Expansion::in_format(int tensor, const TensorSpec& want, int step, const Spot& spot) {
  const TensorSpec have = graph_.tensors[index_of(tensor)].spec;
  if (same_format(have, want)) return tensor;
  for (const auto& [spec, copy] : reordered_[index_of(tensor)]) {
    if (same_format(spec, want) && graph_.tensors[index_of(copy)].lane == spot.lane) return copy;
  }
  Device& device = context_.devices.device(spot.lane);
  const std::string name = graph_.tensors[index_of(tensor)].name;
  int copy = -1;
  if (is_constant(tensor)) {
    auto ref = context_.constants.reorder(constant_ref(tensor), have, want, device);
    if (!ref) return ref.error();
    copy = add_tensor(want, name, spot.lane);
    graph_.tensors[index_of(copy)].node = ref->node;
  } else {
    auto prepared = device.prepare_reorder(have, want, context_.devices.threads(spot.lane));
    if (!prepared) return prepared.error();
    const int id = static_cast<int>(graph_.instances.size());
    copy = add_tensor(want, name, spot.lane);
    graph_.tensors[index_of(copy)].writers = {id};
    Instance& instance = add_instance(Instance::launch, step, spot);
    instance.inputs = {tensor};
    instance.outputs = {copy};
    instance.executable = std::move(prepared->executable);
    instance.scratch_bytes = prepared->scratch_bytes;
    instance.implementation = "reorder " + (have.plain() ? "plain" : have.format->name()) + " to " +
                              (want.plain() ? "plain" : want.format->name());
  }
  reordered_[index_of(tensor)].emplace_back(want, copy);
  return copy;
}

Result<int> Expansion::in_plain(int tensor, int step, const Spot& spot) {
  const TensorSpec& have = graph_.tensors[index_of(tensor)].spec;
  return in_format(tensor, plain_tensor(have.dtype, have.dims), step, spot);
}

Result<void> Expansion::add_outputs() {
  for (const Output& output : context_.program.outputs) {
    const Value& value = context_.program.values[index_of(output.value)];
    auto places = spots(value.place, value.name, {});
    if (!places) return places.error();
    auto plain = in_plain(at(output.value, 0), -1, places->front());
    if (!plain) return plain.error();
    graph_.outputs.push_back(*plain);
  }
  return {};
}

}  // namespace sheaf
