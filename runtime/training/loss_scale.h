// Notices when steps are no updates any more, whatever the scale of the loss (docs/precision.md#loss-scaling).
#pragma once

#include "sheaf/trainer.h"

namespace sheaf {

/// Whether steps of `plan` scale their loss.
bool scales_loss(const Plan& plan);

class LossScaleWatch {
 public:
  /// Steps in a row that may be skipped, at any scale.
  static constexpr int64_t kMostSkipped = 1000;
  /// float16's smallest value. No gradient in range needs a smaller scale.
  static constexpr float kLeastScale = 0x1p-24F;

  /// `now`: the scale after `steps` steps. It needn't be shown after every step: a step counts as skipped in a row only if all
  /// since some time before were. Errors: no step is going to be an update; what to do.
  Result<void> see(int64_t steps, const LossScale& now);

 private:
  int64_t updates_ = -1;  ///< as last shown; none yet
  int64_t updated_ = 0;   ///< all steps after this one were skipped
};

}  // namespace sheaf
