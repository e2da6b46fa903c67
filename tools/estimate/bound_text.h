// A bound program as text (`sheaf dump --format bound`).
#pragma once

#include "runtime/plan/plan.h"
#include "sheaf/options.h"

#include <string>
#include <vector>

namespace sheaf {

/// A line that identifies it, then the output of print() (runtime/bind/print.h) for `program`, one of `plan`'s, on `devices`
/// (as in --devices, ranges spelt out) with a batch of `batch` rows, with the order of its lanes and its arenas. Nothing is
/// allocated on a device; GPUs are planned as `device_model`, if that isn't empty. Errors: the plan holds no executable
/// program; a device that cannot be opened; those of plan_binding().
Result<std::string> bound_text(const Plan& plan, const Program& program, const std::vector<std::string>& devices, int64_t batch,
                               const BindOptions& options = {}, const std::string& device_model = "");

}  // namespace sheaf
