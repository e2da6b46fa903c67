// What all processes of a run must have in common before it begins.
#pragma once

#include "runtime/world/world.h"

#include <utility>

namespace sheaf {

/// A name and a value: {"--batch-size", "32"}.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Compares `mine` with the other ranks'. All ranks together. Errors: the first difference, with both ranks and values.
Result<void> check_alike(World& world, const Facts& mine);

/// The result of check_alike() for the facts of all ranks.
Result<void> check_alike(const std::vector<Facts>& all);

/// The CPUs that the world's processes may use, on all machines together, counting shared ones once. All ranks together.
Result<int> cpus_of_all(World& world);

}  // namespace sheaf
