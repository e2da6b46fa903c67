// Checks whether the memory that a binding needs is available, before any of it is allocated.
#include "runtime/bind/arena_pool.h"
#include "runtime/bind/memory_plan.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace sheaf {
namespace {

struct Need {
  Device* device = nullptr;
  double all = 0;    ///< bytes; a sum of sizes need not fit in 64 bits
  double still = 0;  ///< the part that is not yet allocated
  LaneId largest{-1};
};

std::string in_gib(double bytes) {
  char text[32];
  const bool small = bytes < (1 << 30);
  std::snprintf(text, sizeof text, small ? "%.1f MiB" : "%.1f GiB", bytes / (small ? 1 << 20 : 1 << 30));
  return text;
}

std::string describe(const BoundProgram& program, const ArenaBlock& block) {
  if (!block.tensor) return "scratch memory of an operation, " + in_gib(static_cast<double>(block.bytes));
  return "'" + program.tensors[block.tensor].name + "', " + in_gib(static_cast<double>(block.bytes));
}

/// `available`: bytes that can still be allocated, or the memory's total if even that is too small.
Error too_much(const BoundProgram& program, const MemoryPlan& plan, const DeviceSet& devices, const Need& need,
               double available) {
  constexpr size_t kShown = 5;
  const LaneArena& arena = plan.lanes[need.largest];
  const std::string name = need.device->info().shares_host_memory ? "host" : devices.name(need.largest);
  const auto total = static_cast<double>(need.device->info().memory_bytes);
  Error error(available == total ? in_gib(need.all) + " of memory are needed; the " + name + " has " + in_gib(total)
                                 : in_gib(need.still) + " more of memory are needed; " + in_gib(available) + " of the " +
                                       in_gib(total) + " of " + name + " are free");
  error.note("the largest arena is that of " + devices.name(need.largest) + ", " + std::to_string(arena.bytes) + " bytes");
  const ArenaPeak peak = peak_of(arena);
  for (size_t i = 0; i < std::min(kShown, peak.blocks.size()); ++i) {
    error.note("at its fullest it holds " + describe(program, arena.blocks[peak.blocks[i]]));
  }
  return error.note("a smaller batch needs less: `sheaf estimate --memory` finds the largest that fits");
}

}  // namespace

Result<void> check_fits(const BoundProgram& program, const MemoryPlan& plan, const DeviceSet& devices,
                        const VariableStore& store, const ArenaPool* arenas) {
  std::map<int, Need> needs;  // by memory
  for (LaneId lane : devices.lanes()) {
    Device& device = devices.device(lane);
    Need& need = needs[device.memory_space()];
    const size_t bytes = plan.lanes[lane].bytes;
    need.device = &device;
    need.all += static_cast<double>(bytes);
    if (!arenas || !arenas->has(device, lane, bytes)) need.still += static_cast<double>(bytes);
    if (!need.largest || bytes > plan.lanes[need.largest].bytes) need.largest = lane;
  }
  for (const VariableStore::Node& node : store.nodes()) {
    const auto need = needs.find(node.device->memory_space());
    if (need == needs.end()) continue;
    need->second.all += static_cast<double>(store.bytes_of(node));
    if (!node.data && node.wanted) need->second.still += static_cast<double>(node.spec.bytes);
  }
  for (const auto& [space, need] : needs) {
    const auto total = static_cast<double>(need.device->info().memory_bytes);  // 0: the device doesn't say
    if (total <= 0) continue;
    if (need.all > total) return too_much(program, plan, devices, need, total);
    const auto available = static_cast<double>(need.device->available_bytes());
    if (need.still > available) return too_much(program, plan, devices, need, available);
  }
  return {};
}

}  // namespace sheaf
