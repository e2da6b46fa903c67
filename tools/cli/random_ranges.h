// The range of random numbers for a model's inputs and targets.
#pragma once

#include "runtime/data/source.h"
#include "runtime/plan/plan.h"

#include <map>
#include <string>

namespace sheaf {

/// For each input and target of the plan's programs, the numbers it may hold: integers below the rows of the smallest table
/// (embedding) that its elements index, followed through data movement and views, and below the number of classes of the loss;
/// floating-point numbers from 0 to 1 if the loss takes them as probabilities.
std::map<std::string, RandomRange> random_ranges(const Plan& plan);

}  // namespace sheaf
