// Inputs whose data are bytes (BindOptions::bytes).
#pragma once

#include "runtime/base/bytes.h"
#include "runtime/plan/plan.h"

#include <map>
#include <string>

namespace sheaf {

/// By name of an input or target.
using ByteInputs = std::map<std::string, ByteNumbers>;

/// Errors: the model, or its training step for the step's programs, has no such input or target, of float32, or the numbers aren't
/// those of its channels.
Result<void> check_bytes(const Plan& plan, const Program& program, const ByteInputs& bytes);

}  // namespace sheaf
