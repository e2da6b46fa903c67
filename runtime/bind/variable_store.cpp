#include "runtime/bind/variable_store.h"

#include <algorithm>

namespace sheaf {

VariableStore::VariableStore(std::shared_ptr<Device> host, const std::vector<Parameter>& parameters,
                             const std::vector<Parameter>& state)
    : host_(std::move(host)), parameters_(parameters), state_(state) {}

VariableStore::~VariableStore() {
  for (const Node& node : nodes_) {
    if (node.data) node.device->release(node.data);
    if (node.given) host_->release(node.given);
  }
}

void VariableStore::keep(const Device& device, std::shared_ptr<const void> owner) {
  owners_.emplace(&device, std::move(owner));
}

NodeId VariableStore::add_node(TensorSpec spec, Device& device) {
  Node node;
  node.spec = std::move(spec);
  node.device = &device;
  node.wanted = true;
  return nodes_.add(std::move(node));
}

void VariableStore::add_work(Work work) {
  const bool lasting =
      std::all_of(work.inputs.begin(), work.inputs.end(), [&](StoredRef input) { return at(input.node).lasting; });
  for (NodeId output : work.outputs) at(output).lasting = lasting;
  (lasting ? lasting_work_ : work_).push_back(std::move(work));
}

void VariableStore::changed() {
  done_.store(0, std::memory_order_relaxed);
  set_.store(true, std::memory_order_release);
}

StoredRef VariableStore::zeros(const TensorSpec& spec, Device& device) {
  auto known = zero_nodes_.find(spec.bytes);
  if (known == zero_nodes_.end()) {
    const NodeId node = add_node(spec, *host_);
    at(node).lasting = true;
    at(node).fill = 0;
    known = zero_nodes_.emplace(spec.bytes, node).first;
  }
  return copy_to({known->second, 0}, spec, device);
}

StoredRef VariableStore::copy_to(StoredRef from, const TensorSpec& spec, Device& device) {
  if (memory_space(from.node) == device.memory_space()) return from;
  // A copy is a reordering to the same format, stored under its memory.
  auto& known = reorders_[{from, device.memory_space()}];
  for (const auto& [format, node] : known) {
    if (same_form(format, spec)) return StoredRef{node, 0};
  }
  const NodeId node = add_node(spec, device);
  known.emplace_back(spec, node);
  add_work({nullptr, {from}, {node}, 0, &device, true});
  return StoredRef{node, 0};
}

Result<StoredRef> VariableStore::reorder(StoredRef from, const TensorSpec& have, const TensorSpec& want, Device& device) {
  for (const auto& [format, node] : reorders_[{from, device.memory_space()}]) {
    if (same_form(format, want)) return StoredRef{node, 0};
  }
  SHEAF_ASSIGN(auto prepared, device.prepare_reorder(have, want, 1));
  const NodeId node = add_node(want, device);
  reorders_[{from, device.memory_space()}].emplace_back(want, node);
  add_work({std::move(prepared.executable), {from}, {node}, prepared.scratch_bytes, &device});
  return StoredRef{node, 0};
}

Result<std::vector<StoredRef>> VariableStore::derive(const Step& step, const std::vector<StoredRef>& inputs,
                                                     const std::vector<int64_t>& sizes, const std::vector<TensorSpec>& specs,
                                                     Device& device, const std::function<Result<Prepared>()>& prepare) {
  const auto key = std::make_tuple(&step, inputs, sizes, device.memory_space());
  if (const auto found = derived_.find(key); found != derived_.end()) {
    std::vector<StoredRef> known;
    for (NodeId node : found->second) known.push_back({node, 0});
    return known;
  }
  SHEAF_ASSIGN(auto prepared, prepare());
  std::vector<StoredRef> wanted = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (same_form(prepared.inputs[i], specs[i])) continue;
    SHEAF_ASSIGN(wanted[i], reorder(inputs[i], specs[i], prepared.inputs[i], device));
  }
  std::vector<NodeId> outputs;
  std::vector<StoredRef> refs;
  for (const TensorSpec& spec : prepared.outputs) {
    outputs.push_back(add_node(spec, device));
    refs.push_back({outputs.back(), 0});
  }
  add_work({std::move(prepared.executable), std::move(wanted), outputs, prepared.scratch_bytes, &device});
  derived_[key] = outputs;
  return refs;
}

size_t VariableStore::parameter_bytes(std::optional<int> memory_space) const {
  size_t bytes = 0;
  for (const Node& node : nodes_) {
    const bool there = !memory_space || node.device->memory_space() == *memory_space;
    bytes += there && node.kind != Kind::derived ? bytes_of(node) : 0;
  }
  return bytes;
}

size_t VariableStore::derived_bytes(std::optional<int> memory_space) const {
  size_t bytes = 0;
  for (const Node& node : nodes_) {
    const bool there = !memory_space || node.device->memory_space() == *memory_space;
    bytes += there && node.kind == Kind::derived ? node.spec.bytes : 0;
  }
  return bytes;
}

Result<void> VariableStore::evaluate() {
  if (auto ok = allocate(); !ok) return ok;
  for (; lasting_done_ < lasting_work_.size(); ++lasting_done_) {
    if (auto ok = run(lasting_work_[lasting_done_]); !ok) return ok;
  }
  if (!set()) return {};
  for (size_t done = made(); done < work_.size(); done_.store(++done, std::memory_order_release)) {
    if (auto ok = run(work_[done]); !ok) return ok;
  }
  return {};
}

Result<void> VariableStore::run(Work& work) {
  if (work.copies) {
    const Node& to = at(work.outputs[0]);
    return carry(*at(work.inputs[0].node).device, to.spec, data(work.inputs[0]), to);
  }
  if (elsewhere(*work.device)) return {};
  SHEAF_ASSIGN(auto queue, this->queue(*work.device));
  std::vector<void*> buffers;
  for (StoredRef input : work.inputs) buffers.push_back(data(input));
  for (NodeId output : work.outputs) buffers.push_back(at(output).data);
  SHEAF_ASSIGN(auto scratch, DeviceBuffer::make(*work.device, work.scratch_bytes));
  queue->launch(*work.executable, buffers.data(), scratch.get());
  return queue->synchronize();
}

Result<Queue*> VariableStore::queue(Device& device) {
  auto& queue = queues_[&device];
  if (!queue) {
    SHEAF_ASSIGN(queue, device.open_queue(device.info().cores, deadline_));
  }
  return queue.get();
}

}  // namespace sheaf
