// Data that a training step keeps for its backward step besides values: in the library's own layout.
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// The format of a workspace, a uint8 value of shape [1]. It remembers x's layout in the forward step, since
/// the backward step's primitive must be made for the same layout. Never reordered.
class WorkspaceFormat final : public Format {
 public:
  WorkspaceFormat(Op op, DnnlDesc x, size_t bytes) : op_(op), x_(std::move(x)), bytes_(bytes) {}
  bool equals(const Format& other) const override {
    const auto* that = dynamic_cast<const WorkspaceFormat*>(&other);
    return that && op_ == that->op_ && bytes_ == that->bytes_ && same_layout(x_, that->x_);
  }
  std::string name() const override { return "workspace"; }

  Op op() const { return op_; }
  const DnnlDesc& x() const { return x_; }
  size_t bytes() const { return bytes_; }

 private:
  Op op_;  ///< the training step's
  DnnlDesc x_;
  size_t bytes_;
};

/// Makes output `index` of a training step its workspace; it must be a uint8 value of shape [1].
inline void give_workspace(const Operation& operation, size_t index, const DnnlDesc& x, size_t bytes, Prepared& prepared) {
  const TensorSpec& wanted = operation.request.outputs[index];
  require(wanted.dtype == DType::uint8 && wanted.dims == DnnlDims{1},
          "output " + std::to_string(index) + ", the workspace, should be uint8 of shape [1]");
  TensorSpec& spec = prepared.outputs[index];
  spec.bytes = bytes;
  spec.format = std::make_shared<WorkspaceFormat>(operation.request.step.op, x, bytes);
}

/// The operand `workspace`, made by a step of op `op`; put into `prepared` unchanged.
inline const WorkspaceFormat& take_workspace(const Operation& operation, Op op, Prepared& prepared) {
  const int index = operation.find("workspace");
  require(index >= 0, "operand 'workspace' is missing");
  const TensorSpec& spec = operation.request.inputs[size_t(index)];
  const auto* format = dynamic_cast<const WorkspaceFormat*>(spec.format.get());
  require(format && format->op() == op, "operand 'workspace' is not one that " + to_string(op) + " made");
  prepared.inputs[size_t(index)] = spec;
  return *format;
}

}  // namespace sheaf
