// What crosses between the processes of a world: tensors, each as a message, and whether the run has failed.
#pragma once

#include "runtime/bind/expand/variable_formats.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

class RankMessages {
 public:
  RankMessages(Builder& builder, VariableFormats& variables) : builder_(builder), variables_(variables) {}

  /// Whether data of lane `from` reach lane `to` only as a message.
  bool between(LaneId from, LaneId to) const { return rank(from) != rank(to); }
  /// `tensor`, of another rank, in the memory of `to`'s lane, in its own format. A tensor goes to a rank once.
  TensorId sent(TensorId tensor, const std::string& name, StepId step, const Spot& to);
  /// The same in a message of its own: a value that was brought before needs no memory until then.
  TensorId sent_anew(TensorId tensor, const std::string& name, StepId step, const Spot& to);
  /// If `tensor` comes by a message, its rank doesn't wait for it before those of `own` are made that are of the same rank: their like, which will
  /// be there at about the same time. A rank that waits for a message asks for it again and again, on a core that could compute.
  void receive_after(TensorId tensor, const std::vector<TensorId>& own);
  /// A program's output, which rank 0 makes, in the caller's buffers of all other ranks.
  void deliver(TensorId tensor, int output);
  /// After everything that can fail, and before everything that writes variables: a run that fails on one rank has failed on
  /// all.
  Result<void> agree();

 private:
  int rank(LaneId lane) const { return builder_.devices().rank(lane); }
  /// Sends `tensor` to `to`, where it becomes a tensor in `place`, of lane `lane`.
  TensorId add_message(TensorId tensor, const std::string& name, StepId step, int to, LaneId lane, Tensor::Place place);

  Builder& builder_;
  VariableFormats& variables_;
  std::map<std::pair<TensorId, int>, TensorId> received_;  ///< by tensor and rank
};

}  // namespace sheaf
