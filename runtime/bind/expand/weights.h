// Parameters, buffers and the optimiser's state in a bound program.
#pragma once

#include "runtime/bind/expand/variable_formats.h"

#include <map>
#include <string>
#include <utility>

namespace sheaf {

class Weights {
 public:
  Weights(Builder& builder, const Replicas& replicas, VariableFormats& formats)
      : builder_(builder), replicas_(replicas), formats_(formats) {}

  /// The weight `name` as `value` has it at `spot`: kept on each replica, in shares, or in one place.
  Result<TensorId> find(ValueId value, const std::string& name, const Spot& spot);

 private:
  /// The root of the weight `name`: a variable in a program with updates. If its home isn't settled yet, it lives where `spot`
  /// is. Errors: a variable that lives on no device of this list.
  Result<TensorId> find(const std::string& name, const Spot& spot);
  /// The same for a weight that each replica keeps: the root in the memory of `spot`, once for all replicas there.
  Result<TensorId> find_kept(const std::string& name, const Spot& spot);
  /// The share of it that `value` has at `spot`: a root of its own. Errors: it is already kept in other shares.
  Result<TensorId> find_share(ValueId value, const std::string& name, const Spot& spot);
  TensorId add(const std::string& name, NodeId node, LaneId lane);

  Builder& builder_;
  const Replicas& replicas_;
  VariableFormats& formats_;
  std::map<std::string, TensorId> roots_;
  std::map<std::pair<std::string, int>, TensorId> copies_;  ///< by name and memory: those besides the root
  std::map<std::string, std::vector<TensorId>> shares_;     ///< by name and replica
};

}  // namespace sheaf
