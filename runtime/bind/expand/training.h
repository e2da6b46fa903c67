// What training programs have besides: sums over replicas, what all replicas have alike, the check of the loss, updates.
#pragma once

#include "runtime/bind/expand/calls.h"
#include "runtime/bind/expand/movements.h"
#include "runtime/bind/expand/owners_sums.h"
#include "runtime/bind/expand/weights.h"

#include <functional>

namespace sheaf {

class Training {
 public:
  Training(Builder& builder, const Replicas& replicas, Formats& formats, RankMessages& messages, Movements& movement,
           Weights& weights, Calls& calls)
      : builder_(builder),
        replicas_(replicas),
        formats_(formats),
        messages_(messages),
        movement_(movement),
        weights_(weights),
        calls_(calls),
        owners_sums_(builder, replicas, formats, movement, calls) {}

  /// The sum of the replicas' values, left to right, on one device.
  Result<void> reduce(StepId id);
  /// The same on each replica: added up once in each memory, left to right; between ranks by owners, a bucket at a time.
  Result<void> all_reduce(StepId id);
  /// Before anything reads them: sums that `step` reads, or all of them (null).
  Result<void> finish_sums(const Step* step) { return step ? owners_sums_.make_inputs(*step) : owners_sums_.make_all(); }
  /// On each replica its run of the sum, left to right.
  Result<void> reduce_scatter(StepId id);
  /// The replicas' runs put together, once in each memory.
  Result<void> all_gather(StepId id);
  /// A step whose results are the same on each replica, in a program that keeps variables so: done once in each memory, by the
  /// lane there that has had least of such work.
  Result<void> call_alike(StepId id);
  bool alike(StepId id) const;
  /// A step on shares, each replica on its own: between ranks on the lane for messages, where they come from and go to. A replica goes on computing meanwhile.
  Result<void> call_on_shares(StepId id);

  /// After the step that makes the loss of a program with updates: the check of it that they wait for.
  Result<void> check_loss(StepId id);
  /// What variables become, each in its variable's format.
  Result<void> add_updates(VariableFormats& variables);

 private:
  /// Who works for `spot` on what comes from other ranks, or goes to them: its rank's lane for messages; without a world itself.
  Spot messenger(Spot spot) const;
  /// The replicas' values where they are added up.
  Result<std::vector<TensorId>> summands(StepId id, const Spot& target);
  /// The replicas' runs of a step's operand at `target`, in a tensor of their own.
  Result<TensorId> joined(StepId id, const Spot& target);
  /// The step's result at `target`: the sum of `parts`, which lie in its memory, left to right.
  Result<void> add_sum(StepId id, std::vector<TensorId> parts, const Spot& target) {
    return add_sum(id, std::move(parts), target, target);
  }
  /// `maker`: the lane, of the same memory, that adds.
  Result<void> add_sum(StepId id, std::vector<TensorId> parts, const Spot& target, const Spot& maker);

  /// After a run, `variable` holds what `value` does on `spot`.
  Result<void> add_update(TensorId variable, ValueId value, Spot spot, VariableFormats& variables);
  /// Calls `make` for one of the replicas in each memory; the others there get views of what it made.
  Result<void> once_in_each_memory(StepId id, const std::function<Result<void>(const Spot&)>& make);

  Builder& builder_;
  const Replicas& replicas_;
  Formats& formats_;
  RankMessages& messages_;
  Movements& movement_;
  Weights& weights_;
  Calls& calls_;
  OwnersSums owners_sums_;
  IdVector<LaneId, size_t> shared_work_;  ///< bytes of what each lane makes for all replicas in its memory
};

}  // namespace sheaf
