// Values of which each replica of a region has a run of elements: made from sums, taken from values that all have, computed, and
// put together again.
#pragma once

#include "runtime/bind/expand/calls.h"
#include "runtime/bind/expand/movements.h"
#include "runtime/bind/expand/open_bucket.h"
#include "runtime/bind/expand/sums.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace sheaf {

/// Runs that go to other memories go in buckets (runtime/bind/buckets.h), of several gradients or of several parameters: between
/// ranks in one message, and between memories of one process in copies that follow each other, so that only the first one waits. The
/// lanes for messages, or the links, do it, while replicas go on computing.
class Shares {
 public:
  Shares(Builder& builder, const Replicas& replicas, Formats& formats, Movements& movement, RankMessages& messages,
         Calls& calls, Sums& sums)
      : builder_(builder),
        replicas_(replicas),
        formats_(formats),
        movement_(movement),
        messages_(messages),
        calls_(calls),
        sums_(sums) {}

  /// On each replica, its run of the sum, left to right.
  Result<void> reduce_scatter(StepId id);
  /// The replicas' runs put together, once in each memory.
  Result<void> all_gather(StepId id);
  /// A step on shares, each replica on its own: on the lane for messages or the link, which sends, receives or copies them,
  /// while the replica goes on computing.
  Result<void> call(StepId id);

  /// Completes the pending buckets of which `step` reads something.
  Result<void> make_inputs(const Step& step);
  /// Completes all of them.
  Result<void> make_all();

 private:
  struct Summand {
    StepId step;
    std::vector<TensorId> wholes;  ///< by source: plain, where it was made
  };
  /// By the replica that sends them and the memory where they are needed: a bucket's runs there, by member.
  using Gathered = std::map<std::pair<int, int>, std::vector<TensorId>>;

  /// The lane that, for `spot`, works on values from or for other ranks, or other devices' memories (DeviceSet::messenger_for()).
  Spot messenger(Spot spot) const;
  /// Where a step's operands are.
  Result<std::vector<Spot>> sources(const Step& step) const;
  /// Whether something goes to another memory.
  Result<bool> crosses(const Step& step) const;

  Result<void> make_sums();
  Result<void> make_gathers();
  /// Adds to the bucket, as far as it isn't full, later steps whose operands are there already.
  Result<void> look_ahead();
  Result<void> gather(StepId id, size_t member, Gathered& gathered);
  /// The replicas' runs of a step's operand at `target`, in a tensor of their own.
  Result<TensorId> joined(StepId id, size_t member, const Spot& target, Gathered& gathered);
  /// `runs`, which are plain, of one dtype and in the memory of `from`, in that of `to`, of another rank: in one message. `anew`: as
  /// RankMessages::sent_anew().
  Result<std::vector<TensorId>> sent(StepId id, const std::vector<TensorId>& runs, const Spot& from, const Spot& to, bool anew);
  TensorId packed(StepId id, const std::vector<TensorId>& runs, const std::vector<size_t>& offsets, size_t bytes,
                  const Spot& from);

  Builder& builder_;
  const Replicas& replicas_;
  Formats& formats_;
  Movements& movement_;
  RankMessages& messages_;
  Calls& calls_;
  Sums& sums_;
  OpenBucket<Summand> summands_;
  OpenBucket<StepId> gathers_;
  std::set<StepId> looked_at_;  ///< all_gathers that were made before their turn
};

}  // namespace sheaf
