#include "runtime/bind/expand/weights.h"

namespace sheaf {

Result<TensorId> Weights::find(const std::string& name, const Spot& spot) {
  const bool variable = !builder_.context().program.updates.empty();
  const auto known = roots_.find(name);
  if (variable && known != roots_.end()) return known->second;
  ConstantStore& constants = builder_.constants();
  SHEAF_ASSIGN(const auto node, constants.variable(name));
  if (known == roots_.end()) constants.set_home(node, builder_.device(spot.lane));
  // The lane that works where it lives: the host's, else that which asks, else any.
  const auto lives_with = [&](LaneId lane) { return builder_.device(lane).memory_space() == constants.memory_space(node); };
  LaneId lane = kHostLane;
  if (!lives_with(lane)) lane = spot.lane;
  for (LaneId other : builder_.devices().lanes()) {
    if (!lives_with(lane) && other != kHostLane) lane = other;
  }
  if (variable && !lives_with(lane)) {
    return Error("'" + name + "' lives on a device that is not in this device list")
        .note("it was bound to other devices before: what trains it has to use those, or another copy of the model");
  }
  const TensorId root = builder_.add(constants.spec(node), name, lane, Tensor::Stored{node, variable});
  roots_[name] = root;
  if (variable) formats_.add(root, name);
  return root;
}

}  // namespace sheaf
