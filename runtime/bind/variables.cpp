// Variables in the variable store: their homes, and their values as the caller sees them.
#include "runtime/bind/variable_store.h"
#include "runtime/base/sanitizers.h"
#include "runtime/plan/base64.h"

#include <algorithm>
#include <cstring>
#include <set>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace sheaf {
namespace {

/// Returns freed memory to the system: the C library's heap would keep blocks of megabytes, which no memory prediction
/// includes. Not a sanitizer's heap: there the call would set up the C library's own, and twice at once from two threads.
void trim_heap() {
#if defined(__GLIBC__)
  if constexpr (!under_address_sanitizer && !under_thread_sanitizer) malloc_trim(0);
#endif
}

const Parameter* find(const std::vector<Parameter>& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Parameter& entry) { return entry.name == name; });
  return found == list.end() ? nullptr : &*found;
}

void fill_plain(void* data, size_t bytes, float value) {
  if (value == 0) {
    std::memset(data, 0, bytes);
  } else {
    std::fill_n(static_cast<float*>(data), bytes / sizeof(float), value);
  }
}

}  // namespace

Result<NodeId> VariableStore::variable(const std::string& name) {
  if (const auto found = variables_.find(name); found != variables_.end()) return found->second;
  const Parameter* parameter = find(parameters_, name);
  const Parameter* state = parameter ? nullptr : find(state_, name);
  const Parameter* described = parameter ? parameter : state;
  if (!described) return Error("the plan has no parameter, buffer or optimiser state '" + name + "'");
  const NodeId node = add_node(plain_tensor(described->dtype, described->shape), *host_);
  at(node).name = name;
  at(node).wanted = false;
  at(node).kind = state ? Kind::state : parameter->buffer ? Kind::buffer : Kind::parameter;
  // The plan's check has ensured that this is a number, and the state float32.
  if (state) at(node).fill = state->init.value("value", 0.0F);
  // Checks that a constant has as many bytes as the tensor.
  if (parameter && parameter->constant) {
    SHEAF_ASSIGN(const auto bytes, from_base64(parameter->init.value("data", std::string())));
    SHEAF_TRY(write(node, bytes.data()));
  }
  return variables_[name] = node;
}

void VariableStore::forget_plans() {
  // Nodes of finished work have memory, so all of them stay and keep their numbers.
  if (const size_t kept = forget(work_); kept < made()) done_.store(kept, std::memory_order_release);
  lasting_done_ = std::min(lasting_done_, forget(lasting_work_));
  const auto gone = [&](NodeId node) { return !at(node).data; };
  for (auto& [key, copies] : reorders_) std::erase_if(copies, [&](const auto& copy) { return gone(copy.second); });
  std::erase_if(derived_, [&](const auto& made) { return std::any_of(made.second.begin(), made.second.end(), gone); });
  std::erase_if(zero_nodes_, [&](const auto& zeros) { return gone(zeros.second); });
  for (Node& node : nodes_) {
    if (node.data) continue;
    node.wanted = false;
    node.device = host_.get();
    if (node.kind == Kind::derived) node.spec = {};  // of no bytes, and no longer referenced
    if (node.share_of) node.spec = {};               // if it is wanted again, it may be another run
    if (node.kind != Kind::derived && !node.share_of) node.spec = plain_tensor(node.spec.dtype, node.spec.dims);
  }
}

size_t VariableStore::forget(std::vector<Work>& list) {
  const auto planned_only = [&](const Work& work) {
    return std::any_of(work.outputs.begin(), work.outputs.end(), [&](NodeId output) { return !at(output).data; });
  };
  const auto first = std::find_if(list.begin(), list.end(), planned_only);
  const auto kept = static_cast<size_t>(first - list.begin());
  std::erase_if(list, planned_only);
  return kept;
}

void VariableStore::set_home(NodeId variable, Device& device) {
  Node& node = at(variable);
  node.wanted = true;
  const bool hosts = device.memory_space() == host_->memory_space() && !device.member();
  if (!settled(variable)) node.device = hosts ? host_.get() : &device;
}

void VariableStore::set_format(NodeId variable, const TensorSpec& spec) { at(variable).spec = spec; }

Result<TensorPlace> VariableStore::place(Device& device, const TensorSpec& spec, void* data) {
  SHEAF_ASSIGN(auto queue, this->queue(device));
  return TensorPlace{device, *queue, spec, data};
}

Result<void> VariableStore::read(NodeId variable, void* plain) {
  const Node& node = at(variable);
  const TensorSpec spec = plain_tensor(node.spec.dtype, node.spec.dims);
  if (spec.bytes == 0) return {};
  if (in_shares(node)) return read_shares(node, plain);
  if (!node.data) {
    node.given ? static_cast<void>(std::memcpy(plain, node.given, spec.bytes))
               : fill_plain(plain, spec.bytes, node.fill.value_or(0));
    return {};
  }
  return give(node, plain);
}

Result<void> VariableStore::write(NodeId variable, const void* plain) {
  Node& node = at(variable);
  const TensorSpec spec = plain_tensor(node.spec.dtype, node.spec.dims);
  if (spec.bytes == 0) return {};
  if (in_shares(node)) SHEAF_TRY(write_shares(node, plain));
  if (!node.data) {
    if (in_shares(node)) return {};
    if (!node.given) {
      auto memory = host_->allocate(spec.bytes);
      if (!memory) return memory.error().note("needed for '" + node.name + "'");
      node.given = *memory;
    }
    std::memcpy(node.given, plain, spec.bytes);
    return {};
  }
  if (!elsewhere(*node.device)) {
    SHEAF_ASSIGN(auto source, place(*host_, spec, const_cast<void*>(plain)));
    SHEAF_ASSIGN(auto home, place(*node.device, node.spec, node.data));
    SHEAF_TRY(transfer(source, home));
  }
  node.stale = false;
  for (const NodeId copy : node.copies) {
    if (settled(copy)) SHEAF_TRY(bring(copy));
  }
  return {};
}

Result<void> VariableStore::allocate() {
  bool moved = false;  // out of the memory in which it was given
  std::set<NodeId> shared;
  for (const NodeId id : nodes_.ids()) {
    Node& node = at(id);
    if (!node.wanted || node.data || (node.share_of && node.spec.bytes == 0)) continue;
    const bool given = node.given != nullptr, share = static_cast<bool>(node.share_of);
    const bool beside_shares = in_shares(node);
    if (auto ok = allocate(node); !ok) return ok;
    if (beside_shares) SHEAF_TRY(join_shares(id));
    if (share) shared.insert(node.share_of);
    if (node.copied) SHEAF_TRY(bring(id));
    moved |= given && node.given == nullptr && node.data != nullptr;
  }
  for (const NodeId variable : shared) {
    moved |= at(variable).given != nullptr;
    SHEAF_TRY(fill_shares(variable));
  }
  if (moved) trim_heap();
  return {};
}

Result<void> VariableStore::allocate(Node& node) {
  const bool as_given = node.spec.plain() && node.device->memory_space() == host_->memory_space() && !elsewhere(*node.device);
  if (node.given && as_given) {
    node.data = std::exchange(node.given, nullptr);
    return {};
  }
  auto memory = node.device->allocate(node.spec.bytes);
  if (!memory)
    return memory.error().note(node.name.empty() ? "needed for values made from weights" : "needed for '" + node.name + "'");
  node.data = *memory;
  if (node.given) {
    const NodeId variable = variables_.at(node.name);
    auto ok = write(variable, node.given);
    host_->release(std::exchange(node.given, nullptr));
    return ok;
  }
  return node.fill ? fill(node) : Result<void>();
}

Result<void> VariableStore::fill(const Node& node) {
  if (elsewhere(*node.device)) return {};
  // The same in all formats: none of a variable's formats has padding.
  if (node.device->memory_space() == host_->memory_space()) {
    fill_plain(node.data, node.spec.bytes, *node.fill);
    return {};
  }
  SHEAF_ASSIGN(auto buffer, DeviceBuffer::make(*host_, node.spec.bytes));
  fill_plain(buffer.get(), node.spec.bytes, *node.fill);
  SHEAF_ASSIGN(auto source, place(*host_, node.spec, buffer.get()));
  SHEAF_ASSIGN(auto home, place(*node.device, node.spec, node.data));
  source.spec = home.spec = plain_tensor(node.spec.dtype, {static_cast<int64_t>(node.spec.bytes / size_of(node.spec.dtype))});
  return transfer(source, home);
}

}  // namespace sheaf
