// Maps an address to its memory.
#pragma once

#include "runtime/cuda/driver.h"

#include <cstdint>
#include <map>
#include <shared_mutex>

namespace sheaf::cuda {

/// The memory that a backend's devices have allocated. Everything else is the host's. Any thread may ask.
class MemoryMap {
 public:
  void add(const void* memory, size_t bytes, int device);
  void remove(const void* memory);
  /// The device that owns `memory`, or kHost.
  int device_of(const void* memory) const;

 private:
  struct Range {
    uintptr_t end = 0;
    int device = kHost;
  };
  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Range> ranges_;  ///< by first address
};

}  // namespace sheaf::cuda
