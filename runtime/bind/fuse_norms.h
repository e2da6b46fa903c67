// Batch norm joined with its neighbours, for devices whose library does both in one operation (DeviceInfo::fuses_norms):
// forward with the addition and the ReLU that are its only readers, backward with the ReLU's gradient before it, and the sum before
// that. The bias of a convolution in front of it, which changes nothing but the mean, is left out there, and its gradient, which is
// zero, isn't summed. A step's
// attribute `pattern` says which kernels these are (docs/steps.md).
#pragma once

#include "runtime/bind/bound_program.h"

#include <map>
#include <string_view>
#include <vector>

namespace sheaf {

/// What operations of a batch norm leave for one another, and no plan has. C: its channels.
enum class Left : uint8_t {
  mask,     ///< where its ReLU passes, in the library's form
  moments,  ///< f32 [2, C]: x's mean, and 1 / sqrt(var + eps)
  factors,  ///< of x's type, [2, C]: the norm is x · the first + the second
  slopes,   ///< f32 [3, C]: its gradient is dy · the first + x · the second + the third
};

/// In a fused step's inputs or outputs: what the operations of the batch norm `norm` leave. Negative, which no value of a program is.
inline constexpr int left_by(StepId norm, Left what) { return -1 - (4 * norm.number() + int(what)); }
inline constexpr bool is_left(int operand) { return operand < 0; }
inline constexpr Left what_is_left(int operand) { return Left((-1 - operand) % 4); }
inline constexpr StepId left_by_whom(int operand) { return StepId((-1 - operand) / 4); }

/// The value that `role` names; none: the step has none.
ValueId operand(const Step& step, std::string_view role);

struct NormFusion {
  Step step;                        ///< the step to prepare: operands are values of the program, or of left_by()
  StepId instead;                   ///< the step that messages name: the batch norm, or its gradient
  StepId forward;                   ///< the batch norm
  std::vector<ValueId> zeros = {};  ///< outputs of the replaced step that are zero, and that it doesn't make
};

/// What can be fused in a program. A fused step takes the place of the first of its two steps.
class NormFusions {
 public:
  NormFusions() = default;  ///< of nothing
  explicit NormFusions(const Program& program);
  /// The step to run instead of `step`; null: that step.
  const NormFusion* at(StepId step) const;
  /// The fused operation that also does `step`; null: there is none.
  const NormFusion* covering(StepId step) const;

 private:
  void fuse_forward(const Program& program, StepId norm);
  void fuse_backward(const Program& program, StepId gradient);
  /// A convolution in front of a batch norm does without its bias, and its gradient without the bias's: batch norm's gradient adds up
  /// to zero in each channel.
  void drop_bias(const Program& program, StepId norm);
  void drop_bias_gradient(const Program& program, StepId norm, StepId norm_gradient);

  IdVector<ValueId, StepId> makers_;                ///< none: a source
  IdVector<ValueId, std::vector<StepId>> readers_;  ///< the end of the program for what leaves it
  std::map<StepId, NormFusion> fused_;              ///< by position
  std::map<StepId, StepId> covered_;                ///< a step that another position's fusion does: that position
};

}  // namespace sheaf
