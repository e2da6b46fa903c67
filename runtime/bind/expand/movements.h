// Movements of tensors between places: into the replicas' memories and out of them, whole or in chunks.
#pragma once

#include "runtime/bind/expand/formats.h"
#include "runtime/bind/expand/messages.h"

#include <string>

namespace sheaf {

class Movements {
 public:
  Movements(Builder& builder, const Replicas& replicas, Formats& formats, VariableFormats& variables, RankMessages& messages)
      : builder_(builder), replicas_(replicas), formats_(formats), variables_(variables), messages_(messages) {}

  /// `tensor` in the memory of `spot`'s lane, whole. `by`: the lane of the same memory that copies what another memory of this
  /// process has; none: that of `spot`.
  Result<TensorId> moved(TensorId tensor, const std::string& name, StepId step, const Spot& spot, LaneId by = {});

  /// replicate, first, transfer: whole tensors.
  Result<void> replicate(StepId id);
  /// A tensor cut into the replicas' chunks along a dimension, and joined from them.
  Result<void> scatter(StepId id);
  Result<void> gather(StepId id);
  /// Each replica's run of a value that all of them have.
  Result<void> shard(StepId id);

  /// The dimension along which a step cuts or joins tensors of `rank` dimensions. Errors: the step names one that they lack.
  static Result<size_t> dimension(const Step& step, size_t rank);
  /// The run of `whole`, which is plain, that `result` has at `to`, in the memory of its lane: a view if that suffices.
  /// `by`: as of moved().
  TensorId add_run(StepId id, TensorId whole, ValueId result, const Spot& to, LaneId by = {});
  /// Whether an operation of `lane` can have an operand `offset` bytes into a buffer.
  bool may_lie_at(size_t offset, LaneId lane) const;
  /// Where a copy between the memories of `spot` and of lane `other` runs: at `spot`, or in lane `other`, because the host's
  /// queue reaches only host memory, and any other queue also the host's.
  Spot who_copies(Spot spot, LaneId other) const;
  /// Rows of `plain` along `dim` from `first`, of the size of `spec`, in the memory of `to`'s lane: a view if that suffices.
  /// `by`: as of moved().
  TensorId add_chunk(StepId id, TensorId plain, size_t dim, size_t first, const TensorSpec& spec, const Spot& to,
                     LaneId by = {});

 private:
  /// Where a copy from lane `from` to the memory of `to` runs if lane `by` of that memory would do it; none: that of `to`.
  Spot copier(Spot to, LaneId by, LaneId from) const;
  /// moved() for a constant in another memory.
  Result<TensorId> constant_moved(TensorId tensor, const std::string& name, const Spot& spot);
  /// Whether the tensor is a caller's buffer, of which each process of a world has its own.
  bool of_each_rank(TensorId tensor) const;
  /// Whether an operation of `lane` reads the tensor where it is.
  bool there_for(TensorId tensor, LaneId lane) const;
  /// Whether the tensor reaches `lane` only as a message.
  bool crosses(TensorId tensor, LaneId lane) const;

  Builder& builder_;
  const Replicas& replicas_;
  Formats& formats_;
  VariableFormats& variables_;
  RankMessages& messages_;
};

}  // namespace sheaf
