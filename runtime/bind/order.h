// An order in which instances can be done if some are done as one; and putting instances into another order.
#pragma once

#include "runtime/bind/bound_program.h"

#include <vector>

namespace sheaf {

/// The first `leaders.size()` instances of a program, regarded as fewer.
struct Standing {
  IdVector<InstanceId, InstanceId> leaders;  ///< which one represents those that are done as one
  IdVector<InstanceId, InstanceId> instead;  ///< which instance replaces one that is left out; itself if it stays
};

/// Each instance stands for itself.
Standing stand_alone(const BoundProgram& program);

/// The leaders, each after all that it needs, the earliest by `times` first (Kahn's algorithm). Errors: some wait for each
/// other in a circle.
Result<std::vector<InstanceId>> find_order(const BoundProgram& program, const Standing& standing,
                                           const IdVector<InstanceId, int64_t>& times);

/// Instances that form one operation among devices, one per lane.
struct InstanceGroup {
  std::vector<InstanceId> members;
  int64_t time = 0;  ///< when, if what they need is done: that of instance i is 2i
};

/// The instances in a new order: by their times, but each after what it needs. `groups` of several get numbers in
/// Instance::collective. `instead`, by instance: which one replaces it from now on; itself if it stays. Errors: instances wait
/// for each other in a circle; the program is as it was.
Result<void> rearrange(BoundProgram& program, const std::vector<InstanceGroup>& groups,
                       const IdVector<InstanceId, InstanceId>& instead);

}  // namespace sheaf
