#include "runtime/bind/arena_pool.h"

namespace sheaf {

Result<std::shared_ptr<void>> ArenaPool::take(const std::shared_ptr<const DeviceSet>& devices, LaneId lane, size_t bytes) {
  Device& device = devices->device(lane);
  Arena& arena = arenas_[{&device, lane}];
  if (auto memory = arena.memory.lock(); memory && arena.bytes >= bytes) return memory;
  SHEAF_ASSIGN(auto made, device.allocate(bytes));
  // The device set keeps the device.
  std::shared_ptr<void> memory(made, [devices, lane](void* at) { devices->device(lane).release(at); });
  arena = {memory, bytes};
  return memory;
}

bool ArenaPool::has(const Device& device, LaneId lane, size_t bytes) const {
  const auto known = arenas_.find({&device, lane});
  return known != arenas_.end() && !known->second.memory.expired() && known->second.bytes >= bytes;
}

}  // namespace sheaf
