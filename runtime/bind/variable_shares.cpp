// Variables that a program keeps in shares: runs of elements, each in its replica's memory.
#include "runtime/bind/variable_store.h"

#include <algorithm>

namespace sheaf {

Result<std::vector<NodeId>> VariableStore::shares_of(NodeId variable, const std::vector<Share>& shares) {
  std::vector<NodeId> nodes = at(variable).shares;
  const auto same = [&](NodeId node, const Share& share) {
    return at(node).begin == share.begin && element_count(at(node).spec) == share.count &&
           memory_space(node) == share.device->memory_space();
  };
  const DType dtype = at(variable).spec.dtype;
  const auto becomes = [&](Node& node, const Share& share) {
    node.begin = share.begin;
    node.spec = plain_tensor(dtype, {share.count});
    const bool hosts = share.device->memory_space() == host_->memory_space() && !share.device->member();
    node.device = hosts ? host_.get() : share.device;
  };
  if (in_shares(at(variable))) {
    bool all = nodes.size() == shares.size();
    for (size_t i = 0; all && i < nodes.size(); ++i) all = shares[i].count == 0 || same(nodes[i], shares[i]);
    if (!all)
      return Error("'" + at(variable).name + "' is kept in " + std::to_string(nodes.size()) + " shares, not in " +
                   std::to_string(shares.size()) + " of this device list")
          .note("it was bound to other devices before: what trains it has to use those, or another copy of the model");
    for (size_t i = 0; i < nodes.size(); ++i) {
      at(nodes[i]).wanted = true;
      if (!at(nodes[i]).data) becomes(at(nodes[i]), shares[i]);  // one without elements: forgotten with the program before
    }
    return nodes;
  }
  while (nodes.size() < shares.size()) nodes.push_back(add_node({}, *host_));
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = at(nodes[i]);
    const Node& whole = at(variable);
    node.share_of = variable;
    node.name = whole.name;
    node.kind = whole.kind;
    node.fill = whole.fill;
    node.wanted = i < shares.size();
    node.spec = {};
    if (!node.wanted) continue;
    becomes(node, shares[i]);
  }
  nodes.resize(shares.size());
  at(variable).shares = nodes;
  return nodes;
}

bool VariableStore::in_shares(const Node& variable) const {
  const auto has_memory = [&](NodeId share) { return nodes_[share].data != nullptr; };
  return std::any_of(variable.shares.begin(), variable.shares.end(), has_memory);
}

size_t VariableStore::bytes_of(const Node& node) const {
  const auto kept = [&](NodeId share) { return nodes_[share].data || nodes_[share].wanted; };
  const bool shares_alone = !node.data && !node.wanted && std::any_of(node.shares.begin(), node.shares.end(), kept);
  return shares_alone ? 0 : node.spec.bytes;
}

Result<void> VariableStore::read_shares(const Node& variable, void* plain) {
  const size_t size = size_of(variable.spec.dtype);
  for (const NodeId id : variable.shares) {
    const Node& share = at(id);
    if (share.spec.bytes == 0) continue;
    SHEAF_TRY(give(share, static_cast<char*>(plain) + static_cast<size_t>(share.begin) * size));
  }
  return {};
}

Result<void> VariableStore::write_shares(const Node& variable, const void* plain) {
  const size_t size = size_of(variable.spec.dtype);
  auto* const bytes = const_cast<char*>(static_cast<const char*>(plain));
  for (const NodeId id : variable.shares) {
    const Node& share = at(id);
    if (share.spec.bytes == 0 || elsewhere(*share.device)) continue;
    SHEAF_ASSIGN(auto from, place(*host_, share.spec, bytes + static_cast<size_t>(share.begin) * size));
    SHEAF_ASSIGN(auto to, place(*share.device, share.spec, share.data));
    SHEAF_TRY(transfer(from, to));
  }
  return {};
}

Result<void> VariableStore::fill_shares(NodeId variable) {
  Node& whole = at(variable);
  if (whole.given) {
    SHEAF_TRY(write_shares(whole, whole.given));
    host_->release(std::exchange(whole.given, nullptr));
    return {};
  }
  if (!whole.data) return {};  // each share has its initial value
  const TensorSpec plain = plain_tensor(whole.spec.dtype, whole.spec.dims);
  SHEAF_ASSIGN(auto buffer, DeviceBuffer::make(*host_, plain.bytes));
  SHEAF_TRY(give(whole, buffer.get()));
  return write_shares(whole, buffer.get());
}

Result<void> VariableStore::join_shares(NodeId variable) {
  Node& whole = at(variable);
  const TensorSpec plain = plain_tensor(whole.spec.dtype, whole.spec.dims);
  SHEAF_ASSIGN(auto buffer, DeviceBuffer::make(*host_, plain.bytes));
  SHEAF_TRY(read_shares(whole, buffer.get()));
  whole.stale = false;
  if (elsewhere(*whole.device)) return {};
  SHEAF_ASSIGN(auto from, place(*host_, plain, buffer.get()));
  SHEAF_ASSIGN(auto to, place(*whole.device, whole.spec, whole.data));
  return transfer(from, to);
}

}  // namespace sheaf
