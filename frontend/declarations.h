// Declarations of tensors: a model's inputs and its training targets.
#pragma once

#include "frontend/model.h"
#include "frontend/value.h"

#include <vector>

namespace sheaf::frontend {

/// The most dimensions an input or target may have.
constexpr size_t most_dimensions = 8;

/// The most elements a row of a tensor, or all parameters of a layer, may have: more could not be counted exactly.
constexpr double most_elements = 1e15;

/// The most inputs (or targets) a model or module may have.
constexpr size_t most_declarations = 1000;

/// Reads an ordered map name → {"shape", "dtype"}. `what` is "input" or "target"; a name in `taken` is refused.
std::vector<InputDecl> read_declarations(const LocatedNode& map, const std::string& what, const std::vector<InputDecl>& taken,
                                         Problems& problems);

}  // namespace sheaf::frontend
