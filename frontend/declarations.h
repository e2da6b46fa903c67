// Declarations of tensors: a model's inputs and its training targets.
#pragma once

#include "frontend/model.h"
#include "frontend/value.h"

#include <vector>

namespace sheaf::frontend {

/// Most dimensions that an input or target may have.
constexpr size_t most_dimensions = 8;

/// Most elements of a row of a tensor, or of all parameters of a layer: more could not be counted exactly.
constexpr double most_elements = 1e15;

/// Most inputs (or targets) of a model or module.
constexpr size_t most_declarations = 1000;

/// Reads an ordered map name → {"shape", "dtype"}. `what` is "input" or "target"; a name in `taken` is
/// refused.
std::vector<InputDecl> read_declarations(const LocatedNode& map, const std::string& what, const std::vector<InputDecl>& taken,
                                         Problems& problems);

}  // namespace sheaf::frontend
