// Arenas shared by bindings of programs that never run at the same time, such as training steps on whole batches and on the
// remainder, and the evaluation between them.
#pragma once

#include "runtime/bind/unfinished.h"
#include "runtime/device/device_set.h"

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

namespace sheaf {

/// Use it from one thread at a time.
class ArenaPool {
 public:
  /// At least `bytes` of memory for `lane`, reusing the present memory if it is large enough, so ask for the largest first. It
  /// lives as long as anyone holds it. Errors: too little memory.
  Result<std::shared_ptr<void>> take(const std::shared_ptr<const DeviceSet>& devices, LaneId lane, size_t bytes);
  /// Whether take() would reuse the present memory.
  bool has(const Device& device, LaneId lane, size_t bytes) const;

  /// Notes who uses the memory from now on. False: somebody else has used it since `user` did.
  bool use(const void* user) { return std::exchange(user_, user) == user; }
  /// Work under way in this memory; null: there is none. Whoever else uses the memory settles it first.
  Unfinished* unfinished = nullptr;

 private:
  struct Arena {
    std::weak_ptr<void> memory;
    size_t bytes = 0;
  };
  const void* user_ = nullptr;
  std::map<std::pair<const Device*, LaneId>, Arena> arenas_;  ///< by lane
};

}  // namespace sheaf
