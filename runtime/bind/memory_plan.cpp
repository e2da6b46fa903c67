#include "runtime/bind/memory_plan.h"

#include <algorithm>
#include <limits>

namespace sheaf {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

size_t index_of(int i) { return static_cast<size_t>(i); }

/// Times of lane L: its operation number p starts at 2p + 1 and is done at 2p + 2. What another lane does is known
/// only by what the two wait for: it begins after the last operation of L known to be done by then, and is over
/// (as seen at 2e, before operation e starts) once L has waited for it. Seen at the end of a run at the latest.
class LaneTime {
 public:
  LaneTime(const Graph& graph, const std::vector<std::vector<int32_t>>& clocks) : graph_(graph), clocks_(clocks) {}

  int64_t begin(int lane, const Instance& instance, size_t id) const {
    if (instance.lane == lane) return 2 * int64_t{instance.position} + 1;
    return 2 * int64_t{clocks_[id][index_of(lane)]};
  }

  int64_t end(int lane, const Instance& instance) const {
    if (instance.lane == lane) return 2 * int64_t{instance.position} + 2;
    const auto& order = graph_.lane_order[index_of(lane)];
    const auto past = std::partition_point(order.begin(), order.end(), [&](int other) {
      return clocks_[index_of(other)][index_of(instance.lane)] <= instance.position;
    });
    return 2 * (past - order.begin()) + 1;  // at 2e: not yet free for another lane that only knows e - 1
  }

 private:
  const Graph& graph_;
  const std::vector<std::vector<int32_t>>& clocks_;
};

size_t index_of_time(const std::vector<int64_t>& times, int64_t time) {
  return static_cast<size_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
}

/// By tensor: the block of each planned root that is used; begin is kNever for all others.
std::vector<ArenaBlock> blocks_of_tensors(const Graph& graph, const std::vector<std::vector<int32_t>>& clocks) {
  const LaneTime time(graph, clocks);
  std::vector<ArenaBlock> blocks(graph.tensors.size());
  for (size_t t = 0; t < blocks.size(); ++t) blocks[t] = {static_cast<int>(t), -1, 0, 0, kNever, 0};
  for (size_t i = 0; i < graph.instances.size(); ++i) {
    const Instance& instance = graph.instances[i];
    if (instance.elided || instance.kind == Instance::print) continue;
    for (const auto* operands : {&instance.inputs, &instance.outputs}) {
      for (int operand : *operands) {
        const int root = graph.root(operand).tensor;
        if (!graph.planned(root)) continue;
        const Tensor& tensor = graph.tensors[index_of(root)];
        ArenaBlock& block = blocks[index_of(root)];
        block.bytes = tensor.spec.bytes;
        block.begin = std::min(block.begin, time.begin(tensor.lane, instance, i));
        block.end = std::max(block.end, time.end(tensor.lane, instance));
      }
    }
  }
  return blocks;
}

}  // namespace

Result<MemoryPlan> plan_memory(const Graph& graph, const DeviceSet& devices, const std::vector<std::vector<int32_t>>& clocks) {
  MemoryPlan plan;
  plan.root_offsets.assign(graph.tensors.size(), 0);
  plan.scratch_offsets.assign(graph.instances.size(), 0);
  const std::vector<ArenaBlock> tensors = blocks_of_tensors(graph, clocks);
  for (int lane = 0; lane < devices.lanes(); ++lane) {
    LaneArena arena;
    arena.alignment = devices.device(lane).info().alignment;
    for (const ArenaBlock& block : tensors) {
      if (block.begin != kNever && graph.tensors[index_of(block.tensor)].lane == lane) arena.blocks.push_back(block);
    }
    for (int i : graph.lane_order[index_of(lane)]) {
      const Instance& instance = graph.instances[index_of(i)];
      const int64_t begin = 2 * int64_t{instance.position} + 1;
      if (instance.scratch_bytes > 0) arena.blocks.push_back({-1, i, instance.scratch_bytes, 0, begin, begin + 1});
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
      (block.tensor >= 0 ? plan.root_offsets[index_of(block.tensor)] : plan.scratch_offsets[index_of(block.instance)]) =
          block.offset;
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
