// What training programs have besides: sums over replicas, the check of the loss, updates.
#pragma once

#include "runtime/bind/expand/calls.h"
#include "runtime/bind/expand/movements.h"
#include "runtime/bind/expand/weights.h"

namespace sheaf {

class Training {
 public:
  Training(Builder& builder, const Replicas& replicas, Formats& formats, Movements& movement, Weights& weights, Calls& calls)
      : builder_(builder), replicas_(replicas), formats_(formats), movement_(movement), weights_(weights), calls_(calls) {}

  /// The sum of the replicas' values, left to right, on one device.
  Result<void> reduce(StepId id);
  /// After the step that makes the loss of a program with updates: the check of it that they wait for.
  Result<void> check_loss(StepId id);
  /// What variables become, each in its variable's format.
  Result<void> add_updates(VariableFormats& variables);

 private:
  /// The replicas' values where they are added up.
  Result<std::vector<TensorId>> summands(StepId id, const Spot& target);
  /// The step's result at `target`: the sum of `parts`, which lie in its memory, left to right.
  Result<void> add_sum(StepId id, std::vector<TensorId> parts, const Spot& target);

  Builder& builder_;
  const Replicas& replicas_;
  Formats& formats_;
  Movements& movement_;
  Weights& weights_;
  Calls& calls_;
};

}  // namespace sheaf
