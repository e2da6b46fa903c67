// Parameters, buffers and the optimiser's state in a bound program.
#pragma once

#include "runtime/bind/expand/variable_formats.h"

#include <map>
#include <string>
#include <utility>

namespace sheaf {

class Weights {
 public:
  Weights(Builder& builder, VariableFormats& formats) : builder_(builder), formats_(formats) {}

  /// The root of the weight `name`: a variable in a program with updates. If nobody has settled yet where it lives, it lives
  /// where `spot` is. Errors: a variable that lives on no device of this list.
  Result<TensorId> find(const std::string& name, const Spot& spot);
  /// The same of one that each replica keeps: that in the memory of `spot`, once for all replicas there.
  Result<TensorId> find_kept(const std::string& name, const Spot& spot);

 private:
  TensorId add(const std::string& name, NodeId node, LaneId lane);

  Builder& builder_;
  VariableFormats& formats_;
  std::map<std::string, TensorId> roots_;
  std::map<std::pair<std::string, int>, TensorId> copies_;  ///< by name and memory: those beside the root
};

}  // namespace sheaf
