// Arguments as JSON Schema.
#pragma once

#include "frontend/arguments.h"

namespace sheaf::frontend {

/// The schema of an argument's value. `in_layer`: a module's "$param" may replace it, or an item of its list.
Json argument_schema(const Argument& argument, int rank, bool in_layer);

/// `schema`, or a "$param".
Json or_parameter(Json schema);

/// Regular expression of a device in DataParallel's device_ids.
extern const char* const cuda_pattern;

}  // namespace sheaf::frontend
