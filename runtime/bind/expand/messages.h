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
  /// Sends `tensor` to `to`, where it becomes a tensor in `place`, of lane `lane`. Messages go from host memory to host memory:
  /// on each side, the device's link copies.
  TensorId add_message(TensorId tensor, const std::string& name, StepId step, int to, LaneId lane, Tensor::Place place);
  /// All of `from` to `to`, one of which is in the memory of lane `device`, the other in its host's.
  InstanceId add_copy(TensorId from, TensorId to, StepId step, LaneId device);
  /// `tensor` in its rank's host memory.
  TensorId on_host(TensorId tensor, StepId step);

  Builder& builder_;
  VariableFormats& variables_;
  std::map<std::pair<TensorId, int>, TensorId> received_;    ///< by tensor and rank
  std::map<std::pair<TensorId, StepId>, TensorId> on_host_;  ///< those in devices' memories, by the step they are sent for
};

}  // namespace sheaf
