// The model format in writing: a JSON Schema and tables for the documentation, both made from the tables that the parser checks
// with.
#pragma once

#include "frontend/model.h"

#include <string>

namespace sheaf::frontend {

/// JSON Schema (draft 2020-12) of a model file. It rejects what the parser rejects, except for what a schema cannot express:
/// names that must exist, relations between arguments, values of module parameters, duplicate keys.
Json model_schema();

/// The text of frontend/model.schema.json.
std::string model_schema_text();

/// The tables of docs/model-format.md (Markdown): layers, then losses, optimizers, schedules, distributions, and what
/// torch.nn has besides.
std::string format_tables();

}  // namespace sheaf::frontend
