// Sums over replicas, and what is made once for all replicas in a memory.
#pragma once

#include "runtime/bind/expand/calls.h"
#include "runtime/bind/expand/movements.h"

#include <functional>
#include <vector>

namespace sheaf {

class Sums {
 public:
  Sums(Builder& builder, const Replicas& replicas, Formats& formats, Movements& movement, Calls& calls)
      : builder_(builder), replicas_(replicas), formats_(formats), movement_(movement), calls_(calls) {}

  /// The step's result at `target`: the sum of `parts`, which are in its memory, left to right. `maker`: the lane, of the same
  /// memory, that adds.
  Result<void> add(StepId id, std::vector<TensorId> parts, const Spot& target, const Spot& maker);
  Result<void> add(StepId id, std::vector<TensorId> parts, const Spot& target) {
    return add(id, std::move(parts), target, target);
  }
  /// Calls `make` for one of the replicas in each memory, the one whose lane has had the least of such work; the others there get
  /// views of its result.
  Result<void> once_in_each_memory(StepId id, const std::function<Result<void>(const Spot&)>& make);

 private:
  Builder& builder_;
  const Replicas& replicas_;
  Formats& formats_;
  Movements& movement_;
  Calls& calls_;
  IdVector<LaneId, size_t> shared_work_;  ///< bytes that each lane makes for all replicas in its memory
};

}  // namespace sheaf
