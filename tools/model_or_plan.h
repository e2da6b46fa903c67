// The MODEL-or-PLAN argument of verbs that take either.
#pragma once

#include "frontend/model.h"
#include "runtime/plan/plan.h"

#include <optional>
#include <string>

namespace sheaf {

/// The plan in `file`, or compiled from it: a plan says so in its first bytes, anything else is taken for a model file.
/// `objects`: machine code too, for a plan that shall be bound. Errors: the file can't be read; what parse_plan() and
/// compile() say.
Result<Plan> read_model_or_plan(const std::string& file, bool objects);

/// The model in `file`; none where it holds a plan. Errors: as above.
Result<std::optional<frontend::Model>> read_model(const std::string& file);

}  // namespace sheaf
