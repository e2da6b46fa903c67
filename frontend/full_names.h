// Full names, which layers' names make when they are joined by dots.
#pragma once

#include "frontend/model.h"
#include "frontend/problems.h"

namespace sheaf::frontend {

/// Adds a problem for each layer or parameter whose full name another one has: "a" with "b.c" in it, and "a.b" with "c".
void check_full_names(const Graph& graph, Problems& problems);

}  // namespace sheaf::frontend
