// What training programs have besides: sums over replicas, values that are the same on all replicas, the check of the loss,
// updates.
#pragma once

#include "runtime/bind/expand/calls.h"
#include "runtime/bind/expand/movements.h"
#include "runtime/bind/expand/owners_sums.h"
#include "runtime/bind/expand/shares.h"
#include "runtime/bind/expand/sums.h"
#include "runtime/bind/expand/weights.h"

namespace sheaf {

class Training {
 public:
  Training(Builder& builder, const Replicas& replicas, Formats& formats, RankMessages& messages, Movements& movement,
           Weights& weights, Calls& calls)
      : builder_(builder),
        replicas_(replicas),
        formats_(formats),
        movement_(movement),
        weights_(weights),
        calls_(calls),
        sums_(builder, replicas, formats, movement, calls),
        shares_(builder, replicas, formats, movement, messages, calls, sums_),
        owners_sums_(builder, replicas, formats, movement, messages, calls) {}

  /// The sum of the replicas' values, left to right, on one device.
  Result<void> reduce(StepId id);
  /// The same sum on each replica: added up once in each memory, left to right; between ranks, and between devices that have links,
  /// by owners, a bucket at a time.
  Result<void> all_reduce(StepId id);
  /// Values in shares.
  Shares& shares() { return shares_; }
  /// To be called before anything reads them: completes the buckets of which `step` reads something, or all of them (null).
  Result<void> finish_buckets(const Step* step) {
    SHEAF_TRY(step ? owners_sums_.make_inputs(*step) : owners_sums_.make_all());
    return step ? shares_.make_inputs(*step) : shares_.make_all();
  }
  /// A step whose results are the same on each replica, in a program that keeps variables on all of them: computed once in each
  /// memory, by the lane there that has had the least of such work.
  Result<void> call_alike(StepId id);
  bool alike(StepId id) const;

  /// After the step that makes the loss of a program with updates: the check of the loss, which updates wait for.
  Result<void> check_loss(StepId id);
  /// The new values of variables, each in its variable's format.
  Result<void> add_updates(VariableFormats& variables);

 private:
  /// The replicas' values at the place where they are added up.
  Result<std::vector<TensorId>> summands(StepId id, const Spot& target);

  /// After a run, `variable` holds the value that `value` has on `spot`.
  Result<void> add_update(TensorId variable, ValueId value, Spot spot, VariableFormats& variables);

  Builder& builder_;
  const Replicas& replicas_;
  Formats& formats_;
  Movements& movement_;
  Weights& weights_;
  Calls& calls_;
  Sums sums_;
  Shares shares_;
  OwnersSums owners_sums_;
};

}  // namespace sheaf
