// Checks that only training programs need: settings, optimiser state, updates (internal to runtime/check).
#pragma once

#include "runtime/check/step_check.h"

#include <optional>
#include <string>

namespace sheaf {

/// A scalar that the training loop sets: its name, dtype, shape and place are as in docs/training.md, or it is the rate of a
/// parameter group.
std::optional<std::string> problem_of_setting(const Value& value, const Plan& plan);

/// An entry of Plan::state: shaped like a parameter, and filled with a number when training starts.
std::optional<std::string> problem_of_state(const Parameter& state);

/// `update` replaces a parameter, buffer or state by a value of the same dtype and shape outside of
/// regions. Its index must have been checked.
std::optional<std::string> problem_of_update(const Update& update, const CheckScope& scope);

/// A training program returns the loss, and there is an optimiser that says how its parameters change.
Result<void> check_training(const Plan& plan, const std::string& file);

}  // namespace sheaf
