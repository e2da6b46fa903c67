// Tensors in other formats: an operation that wants a format which its operand does not have reads a reordered copy.
#pragma once

#include "runtime/bind/expand/variable_formats.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

class Formats {
 public:
  Formats(Builder& builder, VariableFormats& variables) : builder_(builder), variables_(variables) {}

  /// `tensor` in the format of `want`, for use by `step` (none: by nothing in the plan) on `spot`: itself, or a reordered copy.
  Result<TensorId> in_format(TensorId tensor, const TensorSpec& want, StepId step, const Spot& spot);
  Result<TensorId> in_plain(TensorId tensor, StepId step, const Spot& spot);
  /// The inputs of an operation in the formats it wants.
  Result<void> bring(std::vector<TensorId>& inputs, const std::vector<TensorSpec>& wanted, StepId step, const Spot& spot);

 private:
  /// in_format() for a tensor that is a whole variable: one copy serves all lanes of a memory.
  Result<TensorId> variable_in_format(TensorId variable, const TensorSpec& want, StepId step, const Spot& spot);
  /// The lane with the least reordering of variables so far, among those of replicas that share `lane`'s memory.
  LaneId lane_for_reorder(LaneId lane, size_t bytes);
  Result<TensorId> add_reorder(TensorId tensor, const TensorSpec& want, StepId step, const Spot& spot);
  /// Who wants another format, and who left the tensor in its present one.
  std::string reason_for_reorder(TensorId tensor, const TensorSpec& want, StepId step) const;

  Builder& builder_;
  VariableFormats& variables_;
  IdVector<LaneId, size_t> reordering_;                                         ///< bytes of variables
  std::map<TensorId, std::vector<std::pair<TensorSpec, TensorId>>> reordered_;  ///< copies in other formats
};

}  // namespace sheaf
