// The MODEL-or-PLAN argument of verbs that take either.
#pragma once

#include "tools/driver/compile.h"

#include <optional>
#include <string>

namespace sheaf {

/// The plan in `file`, or compiled from it as `compilation` says: a plan says so in its first bytes, anything else is taken
/// for a model file. Errors: the file can't be read; what parse_plan() and compile() say.
Result<Plan> read_model_or_plan(const std::string& file, const CompileOptions& compilation);

/// The model in `file`; none if it holds a plan. Errors: as above.
Result<std::optional<frontend::Model>> read_model(const std::string& file);

}  // namespace sheaf
