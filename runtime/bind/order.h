// An order in which instances can run if some run as one; and putting instances into another order.
#pragma once

#include "runtime/bind/bound_program.h"

#include <vector>

namespace sheaf {

/// The first `leaders.size()` instances of a program, some of them merged.
struct Standing {
  IdVector<InstanceId, InstanceId> leaders;  ///< the one that represents those that run as one
  IdVector<InstanceId, InstanceId> instead;  ///< the one that replaces an instance that is left out; itself if it stays
};

/// Each instance represents itself.
Standing stand_alone(const BoundProgram& program);

/// The leaders, each after everything it needs, the earliest by `times` first (Kahn's algorithm). Errors: some wait for each
/// other in a circle.
Result<std::vector<InstanceId>> find_order(const BoundProgram& program, const Standing& standing,
                                           const IdVector<InstanceId, int64_t>& times);

/// Instances that form one operation among devices, one per lane.
struct InstanceGroup {
  std::vector<InstanceId> members;
  int64_t time = 0;  ///< when, if everything they need is done: that of instance i is 2i
};

/// The instances in a new order: by their times, but each after what it needs. `groups` of several get numbers in
/// Instance::collective. `instead`, by instance: the one that replaces it from now on; itself if it stays. Errors: instances
/// wait for each other in a circle; the program is as it was.
Result<void> rearrange(BoundProgram& program, const std::vector<InstanceGroup>& groups,
                       const IdVector<InstanceId, InstanceId>& instead);

}  // namespace sheaf
