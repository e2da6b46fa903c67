// The memory that a program takes over time, for the page that shows it.
#pragma once

#include "runtime/bind/memory_profile.h"
#include "runtime/plan/plan.h"

#include <string>
#include <vector>

namespace sheaf {

/// By lane, as a run of `batch` rows on `devices` (as in --devices, ranges spelt out) plans it. Errors: the plan holds no
/// executable program; a device that cannot be opened; those of estimate().
Result<std::vector<LaneMemory>> memory_over_time(const Plan& plan, const Program& program,
                                                 const std::vector<std::string>& devices, int64_t batch, int shards = 0);

}  // namespace sheaf
