// The planned arenas of a binding: each buffer's place in its lane's memory, and its lifetime. Sizes and
// lifetimes are known exactly, so this is all that a run will use; nothing is allocated to find out.
#pragma once

#include "runtime/bind/arena.h"
#include "runtime/bind/schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sheaf {

class ArenaPool;

/// A buffer in a lane's arena: a root tensor, or the scratch memory of an instance.
struct ArenaBlock {
  TensorId tensor;      ///< none: scratch
  InstanceId instance;  ///< of scratch; none: a tensor
  size_t bytes = 0;     ///< as requested; the arena rounds up to its alignment
  size_t offset = 0;
  /// [begin, end) on the lane's clock: its operation number p starts at 2p + 1 and is done at 2p + 2.
  int64_t begin = 0, end = 0;
};

struct LaneArena {
  size_t alignment = 64;  ///< its device's
  size_t bytes = 0;
  size_t lower_bound = 0;  ///< bytes live at the worst moment: no arena could be smaller
  std::vector<ArenaBlock> blocks;
};

struct MemoryPlan {
  IdVector<LaneId, LaneArena> lanes;
  IdVector<TensorId, size_t> root_offsets;  ///< of a planned root: bytes into its lane's arena
  IdVector<InstanceId, size_t> scratch_offsets;
};

/// The arenas of all lanes, planned. Errors: sizes that overflow.
Result<MemoryPlan> plan_memory(const BoundProgram& program, const Schedule& schedule, const DeviceSet& devices);

/// The worst moment of an arena, and the operation of its lane at that moment.
struct ArenaPeak {
  int64_t time = 0;
  size_t position = 0;         ///< in Schedule::lanes
  std::vector<size_t> blocks;  ///< live then: indices into LaneArena::blocks, the largest first
};
ArenaPeak peak_of(const LaneArena& arena);

/// An error if a memory of the machine (a device's, or the host's, which all CPU devices share) cannot hold the arenas of
/// `plan` and the constants, or if the part of them that isn't allocated yet exceeds what is free. `arenas`: may hold some of
/// them already; may be null. The error names the largest arena with its size, and the largest tensors live when it is fullest.
Result<void> check_fits(const BoundProgram& program, const MemoryPlan& plan, const DeviceSet& devices,
                        const VariableStore& store, const ArenaPool* arenas);

}  // namespace sheaf
