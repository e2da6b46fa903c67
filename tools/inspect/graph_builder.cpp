#include "tools/inspect/graph_builder.h"

#include <algorithm>

namespace sheaf {

namespace {

/// Product of the dims and the element size; none if two dims are symbolic.
std::optional<Extent> bytes_of(DType dtype, const std::vector<Extent>& shape) {
  Extent bytes(static_cast<int64_t>(size_of(dtype)));
  for (const Extent& dim : shape) {
    if (dim.is_static()) bytes = bytes * dim.constant;
    else if (bytes.is_static()) bytes = dim * bytes.constant;
    else return std::nullopt;
  }
  return bytes;
}

}  // namespace

int GraphBuilder::replicas(const Place& place) const {
  if (place.kind != Place::region || !sizes_) return 1;
  return static_cast<int>(sizes_->symbols.replicas(place.index));
}

std::string GraphBuilder::device(const Place& place, int replica) const {
  if (sizes_) return sizes_->devices.name_of(place, replica);
  if (place.kind == Place::region) return plan_.regions[static_cast<size_t>(place.index)].name;
  return to_string(place);
}

Result<PlacementTensor> GraphBuilder::tensor(int index, int replica) const {
  const Value& source = value(index);
  PlacementTensor tensor{source.name, source.dtype, source.shape, {}};
  if (sizes_) {
    SHEAF_ASSIGN(auto dims, sizes_->symbols.dims(source, replica));
    tensor.shape.assign(dims.begin(), dims.end());
  }
  tensor.bytes = bytes_of(tensor.dtype, tensor.shape);
  return tensor;
}

Result<PlacementGraph> GraphBuilder::build() {
  graph_.model = plan_.name;
  graph_.expanded = sizes_ != nullptr;
  if (sizes_) {
    graph_.devices = sizes_->devices.names;
    graph_.batch = sizes_->symbols.batch();
    graph_.shards = sizes_->devices.shards;
  }
  producers_.assign(program_.values.size(), {});
  parameter_.assign(program_.values.size(), false);
  for (size_t v = 0; v < program_.values.size(); ++v) {
    const Value::Role role = program_.values[v].role;
    parameter_[v] = role == Value::parameter || role == Value::buffer || role == Value::state;
  }
  add_regions();
  SHEAF_TRY(add_inputs());
  for (size_t s = 0; s < program_.steps.size(); ++s) SHEAF_TRY(add_step(s));
  SHEAF_TRY(add_outputs());
  return std::move(graph_);
}

void GraphBuilder::add_regions() {
  if (sizes_ && sizes_->devices.unpartitioned()) return;
  for (size_t r = 0; r < plan_.regions.size(); ++r) {
    const Region& region = plan_.regions[r];
    PlacementRegion shown{region.name, region.dim, {}, {}, region.location};
    const Place place{Place::region, static_cast<int>(r)};
    if (sizes_) {
      for (int i = 0; i < replicas(place); ++i) shown.devices.push_back(device(place, i));
    } else if (region.device_ids) {
      for (int id : *region.device_ids) shown.devices.push_back(device({Place::device, id}, 0));
    }
    if (region.output_device) shown.output_device = device({Place::device, *region.output_device}, 0);
    else if (!shown.devices.empty()) shown.output_device = shown.devices.front();
    else shown.output_device = device({Place::device, 0}, 0);
    graph_.regions.push_back(std::move(shown));
  }
}

Result<void> GraphBuilder::add_inputs() {
  for (size_t v = 0; v < program_.values.size(); ++v) {
    const Value& input = program_.values[v];
    if (input.role != Value::input && input.role != Value::target && input.role != Value::setting) continue;
    PlacementNode node;
    node.id = "in" + std::to_string(v);
    node.kind = PlacementNode::input;
    node.op = "input";
    node.name = input.name;
    node.device = device(input.place, 0);
    SHEAF_ASSIGN(auto made, tensor(static_cast<int>(v), 0));
    node.results.push_back(std::move(made));
    producers_[v] = {static_cast<int>(graph_.nodes.size())};
    graph_.nodes.push_back(std::move(node));
  }
  return {};
}

Result<void> GraphBuilder::add_outputs() {
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const Output& output = program_.outputs[i];
    const Place& place = value(output.value).place;
    PlacementNode node;
    node.id = "out" + std::to_string(i);
    node.kind = PlacementNode::output;
    node.op = "output";
    node.name = output.name;
    node.device = device(place, 0);
    if (place.kind == Place::region) node.region = place.index;
    const int index = static_cast<int>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
    for (int r = 0; r < replicas(place); ++r) SHEAF_TRY(connect(index, output.value, r));
  }
  return {};
}

/// An edge from the producer of `input` (as replica `replica` sees it) to `node`.
Result<void> GraphBuilder::connect(int node, int input, int replica) {
  SHEAF_ASSIGN(auto carried, tensor(input, replica));
  const size_t v = static_cast<size_t>(input);
  if (parameter_[v] && carried.bytes) graph_.nodes[static_cast<size_t>(node)].parameter_bytes += carried.bytes->constant;
  if (producers_[v].empty()) return {};  // a parameter, given with the weights
  const size_t source = std::min(static_cast<size_t>(replica), producers_[v].size() - 1);
  graph_.edges.push_back({producers_[v][source], node, std::move(carried), parameter_[v]});
  return {};
}

Result<void> GraphBuilder::add_step(size_t index) {
  const Step& step = program_.steps[index];
  if (!moves(step.op)) return add_computation(index);
  if (sizes_ && sizes_->devices.unpartitioned()) {
    // Nothing moves: the result is the operand itself.
    for (size_t i = 0; i < step.outputs.size() && i < step.inputs.size(); ++i) {
      const size_t from = static_cast<size_t>(step.inputs[i]), to = static_cast<size_t>(step.outputs[i]);
      producers_[to] = producers_[from];
      parameter_[to] = parameter_[from];
    }
    return {};
  }
  // Between regions each replica hands its own value on, on its own device: each needs only a node. The same goes for the part
  // a replica takes of its own value.
  const Route route = traits(step.op).movement.route;
  const bool apart = route == Route::within || (route == Route::between && step.place.kind == Place::region);
  if (apart) return add_computation(index);
  return add_movement(index);
}

Result<void> GraphBuilder::add_computation(size_t index) {
  const Step& step = program_.steps[index];
  const bool in_region = step.place.kind == Place::region;
  for (int r = 0; r < replicas(step.place); ++r) {
    PlacementNode node;
    node.id = "s" + std::to_string(index);
    if (in_region) node.region = step.place.index;
    if (in_region && sizes_ && !sizes_->devices.unpartitioned()) {
      node.id += "_r" + std::to_string(r);
      node.replica = r;
    }
    node.op = op_name(step);
    node.movement = traits(step.op).movement;
    node.layer = step.layer;
    node.device = device(step.place, r);
    node.reason = step.reason;
    node.phase = step.phase;
    node.location = step.location;
    node.attributes = step.attributes;
    if (moves(step.op)) {
      node.inserted = true;
      node.bytes_moved = Extent(0);
    }
    for (int output : step.outputs) {
      SHEAF_ASSIGN(auto made, tensor(output, r));
      node.results.push_back(std::move(made));
    }
    const int at = static_cast<int>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
    for (int input : step.inputs) SHEAF_TRY(connect(at, input, r));
    for (int output : step.outputs) producers_[static_cast<size_t>(output)].push_back(at);
  }
  return {};
}

}  // namespace sheaf
