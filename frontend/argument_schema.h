// Arguments as JSON Schema.
#pragma once

#include "frontend/arguments.h"

namespace sheaf::frontend {

/// The schema of an argument's value. `in_layer`: a module's "$param" may stand for it or for an item of its
/// list.
Json argument_schema(const Argument& argument, int rank, bool in_layer);

/// `schema`, or a "$param".
Json or_parameter(Json schema);

/// Regular expression of a device as DataParallel's device_ids name it.
extern const char* const cuda_pattern;

}  // namespace sheaf::frontend
