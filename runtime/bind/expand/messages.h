// What crosses between the processes of a world: tensors, each as a message, and whether the run has failed.
#pragma once

#include "runtime/bind/expand/variable_formats.h"

#include <map>
#include <string>
#include <tuple>
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
  /// Sends `tensor` to `to`, where it becomes a tensor in `place`, of lane `lane`. Messages between devices go from link to link if the
  /// transport is direct, others from host memory to host memory: on each side, what is elsewhere is copied.
  TensorId add_message(TensorId tensor, const std::string& name, StepId step, int to, LaneId lane, Tensor::Place place);
  /// The transport of messages between the memories of two lanes: whether it is direct, and what reasons say of it.
  bool direct(LaneId from, LaneId to) const;
  std::string way(LaneId from, LaneId to) const;
  /// All of `from` to `to`, one of which is in the memory of lane `device`, the other in its host's, or its rank's link's.
  InstanceId add_copy(TensorId from, TensorId to, StepId step, LaneId device);
  /// `tensor` in the memory of `sender`, a lane for messages or the link of the same rank.
  TensorId in_memory_of(LaneId sender, TensorId tensor, StepId step);

  Builder& builder_;
  VariableFormats& variables_;
  std::map<std::pair<TensorId, int>, TensorId> received_;  ///< by tensor and rank
  std::map<std::tuple<TensorId, StepId, LaneId>, TensorId>
      to_send_;  ///< copies, by the step and the lane that they are sent by
};

}  // namespace sheaf
