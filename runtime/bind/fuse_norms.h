// Batch norm with what stands around it, for devices whose library does both in one operation (DeviceInfo::fuses_norms): forward
// with the addition and the ReLU that alone read its result, backward with the ReLU's gradient before it. Which kernels
// are these a step's attribute `pattern` says (docs/steps.md).
#pragma once

#include "runtime/plan/plan.h"

#include <map>
#include <vector>

namespace sheaf {

/// In a fused step's inputs or outputs: the mask that the forward operation of `NormFusion::forward` leaves.
inline constexpr int kMask = -1;

struct NormFusion {
  Step step;         ///< what is prepared: operands are values of the program, or kMask
  int instead = -1;  ///< the step that it is of, for messages: the batch norm, or its gradient
  int forward = -1;  ///< the batch norm
};

/// What can be fused in a program. A fused step stands where the first of its two steps stood.
class NormFusions {
 public:
  NormFusions() = default;  ///< of nothing
  explicit NormFusions(const Program& program);
  /// What to do in place of step `index`; null: that step.
  const NormFusion* at(int index) const;
  /// The fused operation that does step `index` too; null: there is none.
  const NormFusion* covering(int index) const;

 private:
  void fuse_forward(const Program& program, int norm);
  void fuse_backward(const Program& program, int gradient);

  std::vector<int> makers_;                ///< by value: the step that makes it; -1: a source
  std::vector<std::vector<int>> readers_;  ///< by value: steps; program.steps.size() for what leaves the program
  std::map<int, NormFusion> fused_;        ///< by the position where it stands
  std::map<int, int> covered_;             ///< a step that another position's fusion does: that position
};

}  // namespace sheaf
