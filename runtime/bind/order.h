// In which order instances can be done, where some are done as one; and instances put into another order.
#pragma once

#include "runtime/bind/bound_program.h"

#include <vector>

namespace sheaf {

/// The first `leaders.size()` instances of a program, taken for fewer.
struct Standing {
  IdVector<InstanceId, InstanceId> leaders;  ///< who stands for those that are done as one
  IdVector<InstanceId, InstanceId> instead;  ///< which instance stands for one that is left out; itself where it stays
};

/// Each instance stands for itself.
Standing stand_alone(const BoundProgram& program);

/// The leaders, each once all that it needs is done, the earliest by `times` first (Kahn's algorithm). Errors: some wait for
/// each other in a circle.
Result<std::vector<InstanceId>> find_order(const BoundProgram& program, const Standing& standing,
                                           const IdVector<InstanceId, int64_t>& times);

/// Instances that go together, one a lane, as an operation among devices.
struct InstanceGroup {
  std::vector<InstanceId> members;
  int64_t time = 0;  ///< when, if what they need is done: that of instance i is 2i
};

/// The instances in another order: in that of their times, but each after what it needs. `groups` of several get the
/// numbers Instance::collective. `instead`, by instance: which one stands for it from now on; itself where it stays.
/// Errors: instances wait for each other in a circle; the program is as it was.
Result<void> rearrange(BoundProgram& program, const std::vector<InstanceGroup>& groups,
                       const IdVector<InstanceId, InstanceId>& instead);

}  // namespace sheaf
