// Variables that a program keeps on each replica: copies of one value.
#include "runtime/bind/constants.h"

#include <algorithm>

namespace sheaf {

NodeId ConstantStore::copy_of(NodeId variable, Device& device) {
  if (memory_space(variable) == device.memory_space()) return variable;
  for (const NodeId copy : at(variable).copies) {
    // A node that was requested in vain has lost its device: it serves any.
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

void ConstantStore::updated(const std::vector<NodeId>& variables) {
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

void ConstantStore::mark_stale(NodeId node) {
  at(node).stale = true;
  any_stale_.store(true, std::memory_order_release);
}

Result<void> ConstantStore::refresh() {
  if (!stale()) return {};
  for (const NodeId node : nodes_.ids()) {  // a whole comes before its copies
    if (at(node).stale && settled(node)) SHEAF_TRY(at(node).copied ? bring(node) : join_shares(node));
  }
  any_stale_.store(false, std::memory_order_release);
  return {};
}

Result<void> ConstantStore::bring(NodeId copy) {
  Node& to = at(copy);
  const Node& from = at(to.copied);
  SHEAF_ASSIGN(auto home, place(*from.device, from.spec, from.data));
  SHEAF_ASSIGN(auto target, place(*to.device, to.spec, to.data));
  to.stale = false;
  return transfer(home, target);
}

}  // namespace sheaf
