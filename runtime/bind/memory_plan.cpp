#include "runtime/bind/memory_plan.h"

#include <algorithm>
#include <limits>

namespace sheaf {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

/// Times of lane L: its operation number p starts at 2p + 1 and is done at 2p + 2. Only the waits between the two lanes tell
/// when another lane's work runs: it begins after the last operation of L known to be done by then, and is over (as seen at 2e,
/// before operation e starts) once L has waited for it, or at the latest at the end of a run.
class LaneTime {
 public:
  LaneTime(const BoundProgram& program, const Schedule& schedule) : program_(program), schedule_(schedule) {}

  int64_t begin(LaneId lane, InstanceId id) const {
    const ScheduledInstance& instance = schedule_.instances[id];
    if (program_.instances[id].lane == lane) return 2 * int64_t{instance.position} + 1;
    return 2 * int64_t{instance.known_done[lane]};
  }

  int64_t end(LaneId lane, InstanceId id) const {
    const LaneId own = program_.instances[id].lane;
    const int position = schedule_.instances[id].position;
    if (own == lane) return 2 * int64_t{position} + 2;
    const auto& order = schedule_.lanes[lane];
    const auto past = std::partition_point(
        order.begin(), order.end(), [&](InstanceId other) { return schedule_.instances[other].known_done[own] <= position; });
    return 2 * (past - order.begin()) + 1;  // at 2e: not yet free for another lane that only knows e - 1
  }

 private:
  const BoundProgram& program_;
  const Schedule& schedule_;
};

size_t index_of_time(const std::vector<int64_t>& times, int64_t time) {
  return static_cast<size_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
}

/// By tensor: the block of each planned root that is used; begin is kNever for all others.
IdVector<TensorId, ArenaBlock> blocks_of_tensors(const BoundProgram& program, const Schedule& schedule) {
  const LaneTime time(program, schedule);
  IdVector<TensorId, ArenaBlock> blocks;
  for (TensorId t : program.tensors.ids()) blocks.push_back({t, {}, 0, 0, kNever, 0});
  for (InstanceId i : program.instances.ids()) {
    const Instance& instance = program.instances[i];
    if (instance.left_out() || instance.is<Instance::Print>()) continue;
    for (const auto* operands : {&instance.inputs, &instance.outputs}) {
      for (TensorId operand : *operands) {
        const TensorId root = program.root(operand).tensor;
        if (!program.planned(root)) continue;
        const Tensor& tensor = program.tensors[root];
        ArenaBlock& block = blocks[root];
        block.bytes = tensor.spec.bytes;
        block.begin = std::min(block.begin, time.begin(tensor.lane, i));
        block.end = std::max(block.end, time.end(tensor.lane, i));
      }
    }
  }
  for (TensorId t : program.tensors.ids()) {
    const Tensor& tensor = program.tensors[t];
    if (!tensor.twin || blocks[t].begin == kNever) continue;
    const auto end = 2 * static_cast<int64_t>(schedule.lanes[tensor.lane].size()) + 2;
    blocks[t] = {t, {}, tensor.spec.bytes, 0, 0, end};
    blocks[tensor.twin] = {tensor.twin, {}, tensor.spec.bytes, 0, 0, end};
  }
  return blocks;
}

}  // namespace

Result<MemoryPlan> plan_memory(const BoundProgram& program, const Schedule& schedule, const DeviceSet& devices) {
  MemoryPlan plan;
  plan.root_offsets.assign(program.tensors.size(), 0);
  plan.scratch_offsets.assign(program.instances.size(), 0);
  const auto tensors = blocks_of_tensors(program, schedule);
  for (LaneId lane : devices.lanes()) {
    LaneArena arena;
    arena.alignment = devices.device(lane).info().alignment;
    for (const ArenaBlock& block : tensors) {
      if (block.begin != kNever && program.tensors[block.tensor].lane == lane) arena.blocks.push_back(block);
    }
    for (InstanceId i : schedule.lanes[lane]) {
      const Instance::Call* call = program.instances[i].call();
      const int64_t begin = 2 * int64_t{schedule.instances[i].position} + 1;
      if (call && call->scratch_bytes > 0) arena.blocks.push_back({{}, i, call->scratch_bytes, 0, begin, begin + 1});
    }
    ArenaProblem problem;
    problem.alignment = arena.alignment;
    for (const ArenaBlock& block : arena.blocks) problem.buffers.push_back({block.bytes, block.begin, block.end});
    SHEAF_TRY(problem.check());
    const ArenaSolution solution = plan_arena(problem);
    SHEAF_TRY(verify(problem, solution));
    arena.bytes = solution.bytes;
    arena.lower_bound = problem.lower_bound();
    for (size_t b = 0; b < arena.blocks.size(); ++b) {
      ArenaBlock& block = arena.blocks[b];
      block.offset = solution.offsets[b];
      (block.tensor ? plan.root_offsets[block.tensor] : plan.scratch_offsets[block.instance]) = block.offset;
    }
    plan.lanes.push_back(std::move(arena));
  }
  return plan;
}

ArenaPeak peak_of(const LaneArena& arena) {
  std::vector<int64_t> times;  // memory in use grows only where a block begins
  for (const ArenaBlock& block : arena.blocks) times.push_back(block.begin);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<int64_t> change(times.size() + 1, 0);
  for (const ArenaBlock& block : arena.blocks) {
    if (block.begin == block.end) continue;
    const auto bytes = static_cast<int64_t>(arena_size(block.bytes, arena.alignment));
    change[index_of_time(times, block.begin)] += bytes;
    change[index_of_time(times, block.end)] -= bytes;
  }
  ArenaPeak peak;
  int64_t live = 0, most = -1;
  for (size_t i = 0; i < times.size(); ++i) {
    live += change[i];
    if (live <= most) continue;
    most = live;
    peak.time = times[i];
  }
  peak.position = static_cast<size_t>(peak.time / 2);
  for (size_t b = 0; b < arena.blocks.size(); ++b) {
    if (arena.blocks[b].begin <= peak.time && peak.time < arena.blocks[b].end) peak.blocks.push_back(b);
  }
  std::sort(peak.blocks.begin(), peak.blocks.end(), [&](size_t a, size_t b) {
    const size_t first = arena.blocks[a].bytes, second = arena.blocks[b].bytes;
    return first != second ? first > second : a < b;
  });
  return peak;
}

}  // namespace sheaf
