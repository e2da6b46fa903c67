// Model texts for tests, and the parser's reports about them.
#pragma once

#include "frontend/model.h"

#include <string>
#include <vector>

namespace sheaf::frontend::test {

/// A model with input x [batch, 8] and the given layers, one per line from line 5 on; `rest` are further fields.
std::string model_with(const std::vector<std::string>& layers, const std::string& rest = "");

/// "LINE:COLUMN: message" of every problem; empty for a model that is accepted.
std::vector<std::string> problems_in(const std::string& text);

/// The parsed model; a test failure and an empty model if it is refused.
Model accepted(const std::string& text);

/// The layer with the given PyTorch path, or null.
const Layer* find_layer(const Graph& graph, const std::string& path);

/// A file below the project's root.
std::string read_project_file(const std::string& path);

}  // namespace sheaf::frontend::test
