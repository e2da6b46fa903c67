// A binding's arenas, allocated, and what it says about itself.
#include "runtime/bind/arena_pool.h"
#include "runtime/bind/binding.h"
#include "runtime/bind/planned_binding.h"

#include <set>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

}  // namespace

Result<void> Binding::allocate_arenas(const MemoryPlan& plan, const Graph& graph, ArenaPool* shared) {
  ArenaPool own;
  ArenaPool& pool = shared ? *shared : own;
  for (int lane = 0; lane < devices_->lanes(); ++lane) {
    const LaneArena& arena = plan.lanes[index_of(lane)];
    auto memory = pool.take(devices_, lane, arena.bytes);
    if (!memory) return memory.error().note("needed as the arena of " + devices_->name(lane));
    arenas_.push_back(std::move(*memory));
    info_.lanes.push_back(
        {devices_->name(lane), arena.bytes, arena.lower_bound, graph.lane_order[index_of(lane)].size(), 0, 0});
  }
  return {};
}

void Binding::describe(const Graph& graph, const MemoryPlan& memory) {
  info_.parameter_bytes = constants_->parameter_bytes();
  info_.derived_bytes = constants_->derived_bytes();
  std::set<int> spaces;
  for (int lane = 0; lane < devices_->lanes(); ++lane) {
    const int space = devices_->device(lane).memory_space();
    if (!spaces.insert(space).second) continue;
    info_.lanes[index_of(lane)].parameter_bytes = constants_->parameter_bytes(space);
    info_.lanes[index_of(lane)].derived_bytes = constants_->derived_bytes(space);
  }
  info_.communications = communications(graph, *program_);
  info_.operations = describe_operations(graph, *program_, *devices_);
  info_.memory = memory_profile(graph, memory, info_.operations, *program_, *devices_);
  for (const Instance& instance : graph.instances) operation_entries_.push_back(instance.entry);
}

}  // namespace sheaf
