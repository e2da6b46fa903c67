// Declarations of tensors, a model's inputs and its training targets, and of the lengths in their shapes: sizes besides the
// batch that a run determines.
#pragma once

#include "frontend/model.h"
#include "frontend/value.h"

#include <optional>
#include <string>
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

/// A regular expression for lengths' names: letters and `_`, so that none clashes with a compiler symbol, such as `rows0`.
extern const char* const length_pattern;

/// Why `word` can't name a length: "has to consist of letters and '_'", or that it resembles "batch"; empty if it can.
std::optional<std::string> fault_of_length(const std::string& word);

/// The lengths in `declarations`, each once and in order.
std::vector<std::string> lengths_in(const std::vector<InputDecl>& declarations);

/// Adds a problem for each layer argument that names a length no input of the model has.
void check_lengths(const Model& model, Problems& problems);

}  // namespace sheaf::frontend
