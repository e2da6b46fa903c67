#include "runtime/bind/memory_profile.h"

#include "runtime/bind/operation_info.h"
#include "runtime/bind/planned_binding.h"

#include <algorithm>

namespace sheaf {
namespace {

ProfiledTensor profiled(const LaneArena& arena, const ArenaBlock& block, const BoundProgram& bound,
                        const std::vector<OperationInfo>& operations) {
  // A lane's time 2p is just before its operation p, 2p + 1 while that runs.
  return {block.tensor ? bound.tensors[block.tensor].name : operations[block.instance.index()].layer,
          arena_size(block.bytes, arena.alignment), static_cast<size_t>(block.begin / 2),
          static_cast<size_t>((block.end + 1) / 2), !block.tensor};
}

/// The most that is live at any moment of each position.
std::vector<size_t> live_by_position(const LaneArena& arena, size_t operations) {
  std::vector<int64_t> change(2 * operations + 3, 0);
  for (const ArenaBlock& block : arena.blocks) {
    if (block.begin == block.end) continue;
    const auto bytes = static_cast<int64_t>(arena_size(block.bytes, arena.alignment));
    change[static_cast<size_t>(block.begin)] += bytes;
    change[std::min(static_cast<size_t>(block.end), change.size() - 1)] -= bytes;
  }
  std::vector<size_t> live(operations + 1, 0);
  int64_t now = 0;
  for (size_t time = 0; time < 2 * operations + 2; ++time) {
    now += change[time];
    live[time / 2] = std::max(live[time / 2], static_cast<size_t>(now));
  }
  return live;
}

}  // namespace

std::vector<LaneMemory> memory_profile(const PlannedBinding& binding, const std::vector<OperationInfo>& operations,
                                       const Program& program, const DeviceSet& devices) {
  std::vector<LaneMemory> lanes;
  for (LaneId l : devices.lanes()) {
    const LaneArena& arena = binding.memory.lanes[l];
    LaneMemory lane;
    lane.lane = devices.name(l);
    lane.arena_bytes = arena.bytes;
    lane.peak_bytes = arena.lower_bound;
    for (InstanceId i : binding.schedule.lanes[l]) {
      const OperationInfo& info = operations[i.index()];
      ProfiledOperation operation{info.op, info.layer, {}, info.replica, info.step};
      if (info.step >= 0) operation.fused = program.steps[static_cast<size_t>(info.step)].fused;
      lane.operations.push_back(std::move(operation));
    }
    for (const ArenaBlock& block : arena.blocks) lane.tensors.push_back(profiled(arena, block, binding.program, operations));
    lane.live_bytes = live_by_position(arena, lane.operations.size());
    lane.peak_position =
        static_cast<size_t>(std::max_element(lane.live_bytes.begin(), lane.live_bytes.end()) - lane.live_bytes.begin());
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

}  // namespace sheaf
