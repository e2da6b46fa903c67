// Sums over the replicas of several processes, or of several devices' memories, which each of them needs: gradients of strategy
// `replicated`.
#pragma once

#include "runtime/bind/expand/calls.h"
#include "runtime/bind/expand/movements.h"
#include "runtime/bind/expand/open_bucket.h"

#include <algorithm>
#include <vector>

namespace sheaf {

/// Sums in the order in which their operands are ready, in buckets (runtime/bind/buckets.h). A bucket's operands are adjacent
/// on each replica. Each rank, or in one process each memory, owns an equal run of it: it receives the other replicas' elements
/// of that run, adds them up from left to right, and sends the sums to all. So each sends and receives as many bytes as in a
/// ring, and the bits are those of any other way to add from left to right. All of this happens on the lanes for messages or on
/// links, while replicas go on computing.
class OwnersSums {
 public:
  OwnersSums(Builder& builder, const Replicas& replicas, Formats& formats, Movements& movement, RankMessages& messages,
             Calls& calls)
      : builder_(builder), replicas_(replicas), formats_(formats), movement_(movement), messages_(messages), calls_(calls) {}

  /// Whether step `id`, an all_reduce, goes from rank to rank, or from link to link.
  Result<bool> takes(StepId id) const;
  /// Called when its operands are there; sums the bucket that it fills.
  Result<void> add(StepId id);
  /// Completes the pending sums that `step` reads.
  Result<void> make_inputs(const Step& step);
  /// Completes all of them.
  Result<void> make_all();

 private:
  struct Member {
    StepId step;
    std::vector<TensorId> parts;  ///< by source, all in one format
    size_t offset = 0;            ///< bytes into the bucket
  };
  /// The part in a bucket of a rank, or of a memory.
  struct Owner {
    Spot spot, messages;  ///< one of its replicas; its lane for messages, or its link
    Run run;
    TensorId sum, whole;  ///< of its run; and all owners' sums
  };

  /// Where the operands of `step` are, and where its result goes.
  Result<std::vector<Spot>> sources(const Step& step) const;
  /// Each source's operands, in one tensor.
  std::vector<TensorId> side_by_side(const std::vector<Spot>& sources, const TensorSpec& bucket);
  /// `size`: of an element.
  std::vector<Owner> owners(const std::vector<Spot>& targets, int64_t elements, size_t size) const;
  /// The one of `owners` whose sums `spot` reads.
  template <typename Owners>
  auto owner_for(const Spot& spot, Owners& owners) const {
    return std::ranges::find_if(owners,
                                [&](const Owner& one) { return builder_.devices().together(one.spot.lane, spot.lane); });
  }
  /// The sum of the owner's run.
  Result<void> add_up(Owner& owner, std::vector<TensorId> parts);
  /// All owners' sums on each.
  Result<void> gather(std::vector<Owner>& owners, const TensorSpec& bucket);

  Builder& builder_;
  const Replicas& replicas_;
  Formats& formats_;
  Movements& movement_;
  RankMessages& messages_;
  Calls& calls_;
  OpenBucket<Member> bucket_;
};

}  // namespace sheaf
