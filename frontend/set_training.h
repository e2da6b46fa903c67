// A training section given separately from the model file.
#pragma once

#include "frontend/model.h"

namespace sheaf::frontend {

/// Gives `model`, which is complete, the training section in `text` in place of its own. Errors, located in `file`: malformed
/// JSON; faults of the section.
Result<void> set_training(Model& model, const std::string& file, const std::string& text);

}  // namespace sheaf::frontend
