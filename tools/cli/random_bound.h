// How large random integers may be that are drawn for a model's input.
#pragma once

#include "runtime/plan/plan.h"

#include <string>

namespace sheaf {

/// The number of rows of the smallest table (embedding) that the input's elements are looked up in, followed through
/// data movement and views; 0 where there is none.
int64_t random_bound(const Program& program, const std::string& input);

}  // namespace sheaf
