// Variables that a program keeps on each replica: copies of one value.
#include "runtime/bind/variable_store.h"

#include <algorithm>

namespace sheaf {

NodeId VariableStore::copy_of(NodeId variable, Device& device) {
  if (memory_space(variable) == device.memory_space()) return variable;
  for (const NodeId copy : at(variable).copies) {
    // A node of a failed request has lost its device: it may serve any.
    const bool free = !settled(copy) && !at(copy).wanted;
    if (!free && memory_space(copy) != device.memory_space()) continue;
    if (free) at(copy).device = &device;
    at(copy).wanted = true;
    return copy;
  }
  const TensorSpec& spec = at(variable).spec;
  const NodeId copy = add_node(plain_tensor(spec.dtype, spec.dims), device);
  at(copy).name = at(variable).name;
  at(copy).kind = at(variable).kind;
  at(copy).copied = variable;
  at(variable).copies.push_back(copy);
  return copy;
}

void VariableStore::updated(const std::vector<NodeId>& variables) {
  const auto done = [&](NodeId node) { return std::find(variables.begin(), variables.end(), node) != variables.end(); };
  for (const NodeId variable : variables) {
    const NodeId whole = at(variable).share_of ? at(variable).share_of : variable;
    if (whole != variable && !done(whole)) mark_stale(whole);
    for (const NodeId copy : at(whole).copies) {
      if (done(copy)) at(copy).stale = false;
      else mark_stale(copy);
    }
  }
}

void VariableStore::mark_stale(NodeId node) {
  at(node).stale = true;
  any_stale_.store(true, std::memory_order_release);
}

Result<void> VariableStore::refresh() {
  if (!stale()) return {};
  for (const NodeId node : nodes_.ids()) {  // the whole value comes before its copies
    if (at(node).stale && settled(node)) SHEAF_TRY(at(node).copied ? bring(node) : join_shares(node));
  }
  any_stale_.store(false, std::memory_order_release);
  return {};
}

Result<void> VariableStore::bring(NodeId copy) {
  Node& to = at(copy);
  const Node& from = at(to.copied);
  to.stale = false;
  return carry(*from.device, from.spec, from.data, to);
}

Result<void> VariableStore::give(const Node& node, void* plain) {
  const TensorSpec spec = plain_tensor(node.spec.dtype, node.spec.dims);
  if (!elsewhere(*node.device)) {
    SHEAF_ASSIGN(auto home, place(*node.device, node.spec, node.data));
    SHEAF_ASSIGN(auto target, place(*host_, spec, plain));
    SHEAF_TRY(transfer(home, target));
  }
  const WorldMember* member = node.device->member();
  return member ? member->world->broadcast(member->rank, plain, spec.bytes) : Result<void>();
}

Result<void> VariableStore::carry(Device& source_device, const TensorSpec& source_spec, void* source, const Node& to) {
  const WorldMember *sender = source_device.member(), *receiver = to.device->member();
  const bool here = !elsewhere(source_device), there = !elsewhere(*to.device);
  if (here && there) {
    SHEAF_ASSIGN(auto home, place(source_device, source_spec, source));
    SHEAF_ASSIGN(auto target, place(*to.device, to.spec, to.data));
    return transfer(home, target);
  }
  // A value that is in no rank's memory exists in each process's own.
  if (source_spec.bytes == 0 || !sender || !receiver || sender->rank == receiver->rank) return {};
  if (!here && !there) return {};
  // Between processes a value is plain and in host memory, whatever keeps it on either side.
  const TensorSpec plain = plain_tensor(source_spec.dtype, source_spec.dims);
  SHEAF_ASSIGN(auto buffer, DeviceBuffer::make(*host_, plain.bytes));
  SHEAF_ASSIGN(auto message, place(*host_, plain, buffer.get()));
  if (here) {
    SHEAF_ASSIGN(auto home, place(source_device, source_spec, source));
    SHEAF_TRY(transfer(home, message));
    return sender->world->send(sender->rank, receiver->rank, buffer.get(), plain.bytes);
  }
  SHEAF_TRY(receiver->world->receive(receiver->rank, sender->rank, buffer.get(), plain.bytes));
  SHEAF_ASSIGN(auto target, place(*to.device, to.spec, to.data));
  return transfer(message, target);
}

}  // namespace sheaf
