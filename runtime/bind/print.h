// A bound program as text, for people and for tests: docs/binding.md has the grammar.
#pragma once

#include "runtime/bind/planned_binding.h"

#include <string>

namespace sheaf {

/// The contents of `bound`, which is `program` expanded for `devices`: a line for each tensor, each instance, and each output
/// of the program.
std::string print(const BoundProgram& bound, const Program& program, const DeviceSet& devices);

/// The same with the lanes' waits, their order, and the tensors' places in the arenas.
std::string print(const PlannedBinding& planned, const Program& program, const DeviceSet& devices);

}  // namespace sheaf
