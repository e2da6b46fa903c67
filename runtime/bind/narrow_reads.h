// Values that a library makes in a narrower type than the plan's, which those that read them take as they are.
#pragma once

#include "runtime/bind/bound_program.h"

#include <functional>
#include <utility>
#include <vector>

namespace sheaf {

/// cuDNN rounds the gradient of a weight to the type of the operands. Most gradients are read once or twice, by the optimiser's update and
/// the count of what isn't finite; if all their readers can take the narrow type, nobody converts them: a pass less over memory.
class NarrowReads {
 public:
  explicit NarrowReads(const Program& program);

  /// Whether all that read `value`, or its sum over one replica, take it in `dtype`. `alone`: whether a sum has only one summand.
  bool all_take(ValueId value, DType dtype, const std::function<bool(StepId)>& alone) const;

 private:
  struct Reader {
    StepId step;  ///< none: the caller, or a variable's update
    size_t input = 0;
  };
  const Program& program_;
  IdVector<ValueId, std::vector<Reader>> readers_;
};

}  // namespace sheaf
