#include "runtime/bind/expand/weights.h"

namespace sheaf {

Result<TensorId> Weights::find(ValueId value, const std::string& name, const Spot& spot) {
  if (builder_.context().value(value).layout.kind == ValueLayout::sharded) return find_share(value, name, spot);
  return spot.in_region ? find_kept(name, spot) : find(name, spot);
}

Result<TensorId> Weights::find(const std::string& name, const Spot& spot) {
  const bool variable = !builder_.context().program.updates.empty();
  const auto known = roots_.find(name);
  if (variable && known != roots_.end()) return known->second;
  VariableStore& store = builder_.store();
  SHEAF_ASSIGN(const auto node, store.variable(name));
  if (known == roots_.end()) store.set_home(node, builder_.device(spot.lane));
  // The lane where the variable lives: the host's, else the requesting one, else any.
  const auto lives_with = [&](LaneId lane) { return builder_.device(lane).memory_space() == store.memory_space(node); };
  LaneId lane = kHostLane;
  if (!lives_with(lane)) lane = spot.lane;
  for (LaneId other : builder_.devices().lanes()) {
    if (!lives_with(lane) && other != kHostLane) lane = other;
  }
  if (variable && !lives_with(lane)) {
    return Error("'" + name + "' lives on a device that is not in this device list")
        .note("it was bound to other devices before: what trains it has to use those, or another copy of the model");
  }
  return roots_[name] = add(name, node, lane);
}

Result<TensorId> Weights::find_kept(const std::string& name, const Spot& spot) {
  SHEAF_ASSIGN(const auto root, find(name, spot));
  if (builder_.same_memory(builder_.tensor(root).lane, spot.lane)) return root;
  Device& device = builder_.device(spot.lane);
  TensorId& copy = copies_[{name, device.memory_space()}];
  if (!copy) copy = add(name, builder_.store().copy_of(builder_.tensor(root).lies<Tensor::Stored>()->node, device), spot.lane);
  return copy;
}

Result<TensorId> Weights::find_share(ValueId value, const std::string& name, const Spot& spot) {
  std::vector<TensorId>& shares = shares_[name];
  if (shares.empty()) {
    const Value& described = builder_.context().value(value);
    SHEAF_ASSIGN(const auto spots, replicas_.spots(described, name, {}));
    std::vector<VariableStore::Share> wanted;
    for (const Spot& each : spots) {
      const Run run = replicas_.run(value, each);
      wanted.push_back({&builder_.device(each.lane), run.begin, run.count});
    }
    VariableStore& store = builder_.store();
    SHEAF_ASSIGN(const auto node, store.variable(name));
    SHEAF_ASSIGN(const auto nodes, store.shares_of(node, wanted));
    for (size_t i = 0; i < nodes.size(); ++i) {
      TensorSpec spec = store.spec(nodes[i]);
      shares.push_back(builder_.add(std::move(spec), name, spots[i].lane, Tensor::Stored{nodes[i], true}));
    }
  }
  return shares[static_cast<size_t>(spot.replica)];
}

TensorId Weights::add(const std::string& name, NodeId node, LaneId lane) {
  const bool variable = !builder_.context().program.updates.empty();
  const TensorId root = builder_.add(builder_.store().spec(node), name, lane, Tensor::Stored{node, variable});
  if (variable) formats_.add(root, name);
  return root;
}

}  // namespace sheaf
