// Arenas that several bindings share: those of programs that never run at the same time, such as training steps on whole
// batches and on what is left over, and the evaluation between them.
#pragma once

#include "runtime/device/device_set.h"

#include <cstddef>
#include <map>
#include <memory>

namespace sheaf {

/// Not to be used by two threads at once.
class ArenaPool {
 public:
  /// At least `bytes` of memory for `lane`: what is there already where it is large enough, so the largest should come
  /// first. It lives as long as somebody holds it. Errors: too little memory.
  Result<std::shared_ptr<void>> take(const std::shared_ptr<const DeviceSet>& devices, LaneId lane, size_t bytes);
  /// Whether take() would hand out what is there already.
  bool has(const Device& device, LaneId lane, size_t bytes) const;

 private:
  struct Arena {
    std::weak_ptr<void> memory;
    size_t bytes = 0;
  };
  std::map<std::pair<const Device*, LaneId>, Arena> arenas_;  ///< by lane
};

}  // namespace sheaf
