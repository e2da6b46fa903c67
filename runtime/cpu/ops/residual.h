// The residual operand: summed into the destination, so it must be there beforehand.
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// Adds the residual (if the step has one) to `prepared` and a copy of it to `calls`, before the
/// primitive with the sum post-op. oneDNN's sum reads the destination: binding is told that residual and
/// output may share a buffer, and the copy does nothing then.
class ResidualCopy {
 public:
  ResidualCopy() = default;
  ResidualCopy(const Operation& operation, const DnnlDesc& destination, Prepared& prepared);
  void run(void* const* buffers, void* scratch);

 private:
  std::vector<DnnlCall> copy_;  ///< none or one
  int residual_ = 0;
  int output_ = 0;
};

/// Primitives; the first one sums into the residual.
class ResidualExecutable final : public Executable {
 public:
  ResidualExecutable(ResidualCopy residual, std::vector<DnnlCall> calls, int threads)
      : residual_(std::move(residual)), calls_(std::move(calls)), threads_(threads) {}
  void run(void* const* buffers, void* scratch) override {
    set_team_size(threads_);
    residual_.run(buffers, scratch);
    for (DnnlCall& call : calls_) call.run(buffers, scratch);
  }

 private:
  ResidualCopy residual_;
  std::vector<DnnlCall> calls_;
  int threads_;
};

}  // namespace sheaf
