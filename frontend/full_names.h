// Full names: layers' names joined by dots.
#pragma once

#include "frontend/model.h"
#include "frontend/problems.h"

namespace sheaf::frontend {

/// Adds a problem for each layer or parameter with the same full name as another: "a" with "b.c" in it, and "a.b" with "c".
void check_full_names(const Graph& graph, Problems& problems);

}  // namespace sheaf::frontend
