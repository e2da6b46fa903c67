// The metadata of a checkpoint as JSON.
#pragma once

#include "runtime/training/checkpoint.h"

namespace sheaf {

/// Everything but the tensors.
nlohmann::json json_of(const Checkpoint& checkpoint);

nlohmann::json json_of(const SavedProgress& saved);

/// What both of these say. Errors name the field: it is missing, of another type, or its value is impossible.
Result<SavedProgress> progress_of(const nlohmann::json& json);
/// The inverse of the first. Errors name the field: it is missing, of another type, or its value is impossible.
Result<Checkpoint> checkpoint_of(const nlohmann::json& json);

}  // namespace sheaf
