// The rows of the caller's inputs that this process's devices read: in a world each process reads its own.
#pragma once

#include "runtime/bind/bound_program.h"
#include "runtime/bind/chunk.h"

#include <vector>

namespace sheaf {

/// By input of the program: the rows, from the first to the last one, that instances of this process's lanes read; an empty run
/// where they read none. An input without rows has one. `bound`: after all rewrites.
std::vector<Run> rows_read(const BoundProgram& bound, const Program& program, const DeviceSet& devices);

}  // namespace sheaf
