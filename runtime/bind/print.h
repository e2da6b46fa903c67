// A bound program as text, for people and for tests: docs/binding.md has the grammar.
#pragma once

#include "runtime/bind/memory_plan.h"

#include <string>

namespace sheaf {

/// What `graph`, which is `program` expanded for `devices`, holds: a line for each tensor, each instance, and for what leaves
/// the program; where schedule() has been run, for each lane too. `memory`: where its arenas are planned, offsets in them are
/// shown; else null.
std::string print(const Graph& graph, const Program& program, const DeviceSet& devices, const MemoryPlan* memory = nullptr);

}  // namespace sheaf
