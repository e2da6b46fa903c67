// What training programs have besides: sums over replicas, values that are the same on all replicas, the check of the loss,
// updates.
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
        owners_sums_(builder, replicas, formats, movement, messages, calls) {}

  /// The sum of the replicas' values, left to right, on one device.
  Result<void> reduce(StepId id);
  /// The same sum on each replica: added up once in each memory, left to right; between ranks, and between devices that have links,
  /// by owners, a bucket at a time.
  Result<void> all_reduce(StepId id);
  /// To be called before anything reads them: completes the sums that `step` reads, or all of them (null).
  Result<void> finish_sums(const Step* step) { return step ? owners_sums_.make_inputs(*step) : owners_sums_.make_all(); }
  /// On each replica, its run of the sum, left to right.
  Result<void> reduce_scatter(StepId id);
  /// The replicas' runs put together, once in each memory.
  Result<void> all_gather(StepId id);
  /// A step whose results are the same on each replica, in a program that keeps variables on all of them: computed once in each
  /// memory, by the lane there that has had the least of such work.
  Result<void> call_alike(StepId id);
  bool alike(StepId id) const;
  /// A step on shares, each replica on its own: on the lane for messages or the link, which sends, receives or copies them,
  /// while the replica goes on computing.
  Result<void> call_on_shares(StepId id);

  /// After the step that makes the loss of a program with updates: the check of the loss, which updates wait for.
  Result<void> check_loss(StepId id);
  /// The new values of variables, each in its variable's format.
  Result<void> add_updates(VariableFormats& variables);

 private:
  /// The lane that, for `spot`, works on values from or for other ranks, or other devices' memories (DeviceSet::messenger_for()).
  Spot messenger(Spot spot) const;
  /// The replicas' values at the place where they are added up.
  Result<std::vector<TensorId>> summands(StepId id, const Spot& target);
  /// The replicas' runs of a step's operand at `target`, in a tensor of their own.
  Result<TensorId> joined(StepId id, const Spot& target);
  /// The step's result at `target`: the sum of `parts`, which are in its memory, left to right.
  Result<void> add_sum(StepId id, std::vector<TensorId> parts, const Spot& target) {
    return add_sum(id, std::move(parts), target, target);
  }
  /// `maker`: the lane, of the same memory, that adds.
  Result<void> add_sum(StepId id, std::vector<TensorId> parts, const Spot& target, const Spot& maker);

  /// After a run, `variable` holds the value that `value` has on `spot`.
  Result<void> add_update(TensorId variable, ValueId value, Spot spot, VariableFormats& variables);
  /// Calls `make` for one of the replicas in each memory; the others there get views of its result.
  Result<void> once_in_each_memory(StepId id, const std::function<Result<void>(const Spot&)>& make);

  Builder& builder_;
  const Replicas& replicas_;
  Formats& formats_;
  RankMessages& messages_;
  Movements& movement_;
  Weights& weights_;
  Calls& calls_;
  OwnersSums owners_sums_;
  IdVector<LaneId, size_t> shared_work_;  ///< bytes that each lane makes for all replicas in its memory
};

}  // namespace sheaf
