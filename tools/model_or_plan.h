// The MODEL-or-PLAN argument of verbs that take either.
#pragma once

#include "tools/driver/compile.h"

#include <optional>
#include <string>

namespace sheaf {

/// The plan in `file`, or the plan compiled from it as `compilation` says: a plan identifies itself in its first bytes,
/// anything else is read as a model file. Errors: the file can't be read; those of parse_plan() and compile().
Result<Plan> read_model_or_plan(const std::string& file, const CompileOptions& compilation);

/// The model in `file`; none if it holds a plan. Errors: as above.
Result<std::optional<frontend::Model>> read_model(const std::string& file);

}  // namespace sheaf
