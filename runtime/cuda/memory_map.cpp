#include "runtime/cuda/memory_map.h"

#include <mutex>

namespace sheaf::cuda {

void MemoryMap::add(const void* memory, size_t bytes, int device) {
  const std::unique_lock lock(mutex_);
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  ranges_[begin] = {begin + bytes, device};
}

void MemoryMap::remove(const void* memory) {
  const std::unique_lock lock(mutex_);
  ranges_.erase(reinterpret_cast<uintptr_t>(memory));
}

int MemoryMap::device_of(const void* memory) const {
  const auto at = reinterpret_cast<uintptr_t>(memory);
  const std::shared_lock lock(mutex_);
  auto after = ranges_.upper_bound(at);
  if (after == ranges_.begin()) return kHost;
  const Range& range = std::prev(after)->second;
  return at < range.end ? range.device : kHost;
}

}  // namespace sheaf::cuda
