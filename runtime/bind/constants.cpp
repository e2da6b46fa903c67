#include "runtime/bind/constants.h"

#include "runtime/bind/non_finite.h"

#include <algorithm>
#include <cstring>

namespace sheaf {

ConstantStore::ConstantStore(std::shared_ptr<Device> host, const std::vector<Parameter>& parameters,
                             const std::vector<Parameter>& state)
    : host_(std::move(host)), parameters_(parameters), state_(state) {}

ConstantStore::~ConstantStore() {
  for (const Node& node : nodes_) {
    if (node.data) node.device->release(node.data);
  }
}

void ConstantStore::keep(const Device& device, std::shared_ptr<const void> owner) {
  owners_.emplace(&device, std::move(owner));
}

int ConstantStore::add_node(TensorSpec spec, Device& device) {
  Node node;
  node.spec = std::move(spec);
  node.device = &device;
  nodes_.push_back(std::move(node));
  return static_cast<int>(nodes_.size()) - 1;
}

void ConstantStore::add_work(Work work) {
  const bool lasting = std::all_of(work.inputs.begin(), work.inputs.end(), [&](ConstantRef input) {
    return nodes_[static_cast<size_t>(input.node)].lasting;
  });
  for (int output : work.outputs) nodes_[static_cast<size_t>(output)].lasting = lasting;
  (lasting ? lasting_work_ : work_).push_back(std::move(work));
}

Result<int> ConstantStore::parameter(const std::string& name) {
  if (const auto found = parameter_nodes_.find(name); found != parameter_nodes_.end()) return found->second;
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const Parameter& parameter) { return parameter.name == name; });
  if (found == parameters_.end()) return Error("the plan has no parameter '" + name + "'");
  const int node = add_node(plain_tensor(found->dtype, found->shape), *host_);
  nodes_[static_cast<size_t>(node)].kind = found->buffer ? Kind::buffer : Kind::parameter;
  nodes_[static_cast<size_t>(node)].name = name;
  return parameter_nodes_[name] = node;
}

Result<void*> ConstantStore::parameter_data(size_t index) {
  auto node = parameter(parameters_[index].name);
  if (!node) return node.error();
  Node& made = nodes_[static_cast<size_t>(*node)];
  if (auto ok = allocate(made); !ok) return ok.error();
  return made.data;
}

Result<int> ConstantStore::state(const std::string& name) {
  if (const auto found = state_nodes_.find(name); found != state_nodes_.end()) return found->second;
  const auto found =
      std::find_if(state_.begin(), state_.end(), [&](const Parameter& entry) { return entry.name == name; });
  if (found == state_.end()) return Error("the plan has no optimiser state '" + name + "'");
  const int node = add_node(plain_tensor(found->dtype, found->shape), *host_);
  Node& made = nodes_[static_cast<size_t>(node)];
  made.kind = Kind::state;
  made.name = name;
  // The check of the plan has seen to it that this is a number, and the state float32.
  made.fill = found->init.value("value", 0.0F);
  return state_nodes_[name] = node;
}

Result<void*> ConstantStore::state_data(size_t index) {
  auto node = state(state_[index].name);
  if (!node) return node.error();
  Node& made = nodes_[static_cast<size_t>(*node)];
  if (auto ok = allocate(made); !ok) return ok.error();
  return made.data;
}

ConstantRef ConstantStore::zeros(const TensorSpec& spec, Device& device) {
  auto known = zero_nodes_.find(spec.bytes);
  if (known == zero_nodes_.end()) {
    const int node = add_node(spec, *host_);
    nodes_[static_cast<size_t>(node)].lasting = true;
    nodes_[static_cast<size_t>(node)].fill = 0;
    known = zero_nodes_.emplace(spec.bytes, node).first;
  }
  return copy_to({known->second, 0}, spec, device);
}

void ConstantStore::changed() {
  set_ = true;
  done_ = 0;
  finite_.reset();
}

bool ConstantStore::finite() {
  if (!finite_) {
    finite_ = true;
    for (const auto& [name, node] : parameter_nodes_) {
      const Node& made = nodes_[static_cast<size_t>(node)];
      if (made.data && !all_finite(made.spec, made.data)) finite_ = false;
    }
  }
  return *finite_;
}

ConstantRef ConstantStore::copy_to(ConstantRef from, const TensorSpec& spec, Device& device) {
  if (memory_space(from.node) == device.memory_space()) return from;
  // A copy is the reordering to the same format, kept under the memory that it lies in.
  auto& known = reorders_[{from, device.memory_space()}];
  for (const auto& [format, node] : known) {
    if (same_format(format, spec)) return ConstantRef{node, 0};
  }
  const int node = add_node(spec, device);
  reorders_[{from, device.memory_space()}].emplace_back(spec, node);
  add_work({nullptr, {from}, {node}, 0, &device});
  return ConstantRef{node, 0};
}

Result<ConstantRef> ConstantStore::reorder(ConstantRef from, const TensorSpec& have, const TensorSpec& want,
                                           Device& device) {
  for (const auto& [format, node] : reorders_[{from, device.memory_space()}]) {
    if (same_format(format, want)) return ConstantRef{node, 0};
  }
  auto prepared = device.prepare_reorder(have, want, 1);
  if (!prepared) return prepared.error();
  const int node = add_node(want, device);
  reorders_[{from, device.memory_space()}].emplace_back(want, node);
  add_work({std::move(prepared->executable), {from}, {node}, prepared->scratch_bytes, &device});
  return ConstantRef{node, 0};
}

Result<std::vector<ConstantRef>> ConstantStore::derive(const Step& step, const std::vector<ConstantRef>& inputs,
                                                       const std::vector<TensorSpec>& specs, Device& device,
                                                       const std::function<Result<Prepared>()>& prepare) {
  const auto key = std::make_tuple(&step, inputs, device.memory_space());
  if (const auto found = derived_.find(key); found != derived_.end()) {
    std::vector<ConstantRef> known;
    for (int node : found->second) known.push_back({node, 0});
    return known;
  }
  auto prepared = prepare();
  if (!prepared) return prepared.error();
  std::vector<ConstantRef> wanted = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (same_format(prepared->inputs[i], specs[i])) continue;
    auto reordered = reorder(inputs[i], specs[i], prepared->inputs[i], device);
    if (!reordered) return reordered.error();
    wanted[i] = *reordered;
  }
  std::vector<int> outputs;
  std::vector<ConstantRef> refs;
  for (const TensorSpec& spec : prepared->outputs) {
    outputs.push_back(add_node(spec, device));
    refs.push_back({outputs.back(), 0});
  }
  add_work({std::move(prepared->executable), std::move(wanted), outputs, prepared->scratch_bytes, &device});
  derived_[key] = outputs;
  return refs;
}

size_t ConstantStore::parameter_bytes() const {
  size_t bytes = 0;
  for (const Node& node : nodes_) bytes += node.kind != Kind::derived ? node.spec.bytes : 0;
  return bytes;
}

size_t ConstantStore::derived_bytes() const {
  size_t bytes = 0;
  for (const Node& node : nodes_) bytes += node.kind == Kind::derived ? node.spec.bytes : 0;
  return bytes;
}

Result<void> ConstantStore::allocate(Node& node) {
  if (node.data) return {};
  auto memory = node.device->allocate(node.spec.bytes);
  if (!memory) return memory.error().note(node.name.empty() ? "needed for what is made from weights" : "needed for '" + node.name + "'");
  node.data = *memory;
  if (!node.fill) return {};
  if (*node.fill == 0) {
    std::memset(node.data, 0, node.spec.bytes);
  } else {
    std::fill_n(static_cast<float*>(node.data), node.spec.bytes / sizeof(float), *node.fill);
  }
  return {};
}

Result<void> ConstantStore::allocate() {
  for (; allocated_ < nodes_.size(); ++allocated_) {
    if (auto ok = allocate(nodes_[allocated_]); !ok) return ok;
  }
  return {};
}

Result<void> ConstantStore::evaluate() {
  if (auto ok = allocate(); !ok) return ok;
  if (auto done = evaluate(lasting_work_, lasting_done_); !done || !set_) return done;
  return evaluate(work_, done_);
}

Result<void> ConstantStore::evaluate(std::vector<Work>& list, size_t& done) {
  std::map<Device*, std::unique_ptr<Queue>> queues;
  std::vector<void*> buffers;
  for (; done < list.size(); ++done) {
    Work& work = list[done];
    auto& queue = queues[work.device];
    if (!queue) {
      auto opened = work.device->open_queue(work.device->info().cores);
      if (!opened) return opened.error();
      queue = std::move(*opened);
    }
    buffers.clear();
    for (ConstantRef input : work.inputs) buffers.push_back(data(input));
    for (int output : work.outputs) buffers.push_back(nodes_[static_cast<size_t>(output)].data);
    if (!work.executable) {
      queue->copy(buffers[1], buffers[0], {nodes_[static_cast<size_t>(work.outputs[0])].spec.bytes, 1, 0, 0});
    } else {
      auto scratch = work.device->allocate(work.scratch_bytes);
      if (!scratch) return scratch.error();
      queue->launch(*work.executable, buffers.data(), *scratch);
      auto finished = queue->synchronize();  // the scratch is freed below
      work.device->release(*scratch);
      if (!finished) return finished.error();
    }
    if (auto finished = queue->synchronize(); !finished) return finished.error();
  }
  return {};
}

}  // namespace sheaf
