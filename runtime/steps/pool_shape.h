// Sizes of a pooling step, checked.
#pragma once

#include "runtime/steps/step_operands.h"

namespace sheaf {

/// In PyTorch's terms (dilation counts from 1), with the padding that the last window needs.
struct Pooling {
  Dims x, y, kernel, stride, dilation, padding_begin, padding_end;
  size_t spatial() const { return kernel.size(); }
  bool dilated() const;
};

/// One output position's window along one dimension: elements [begin, end); the average divides by the
/// product of the dimensions' divisors.
struct Window {
  int64_t begin, end, divisor;
};

/// How an average pooling is computed: as libraries do, dividing by the kernel's size or by its part within x, with a
/// factor for another divisor; or, if the divisors differ between windows, which libraries don't support, by its windows.
struct Averaging {
  bool include_padding = true;
  float scale = 1;
  std::vector<std::vector<Window>> windows;  ///< by dimension, then output position; empty: as libraries do
};

/// x and y [N, C, s…] with 1 to 3 spatial dims, whose sizes must be related by the step's attributes as in
/// PyTorch.
Pooling pooling_of(const StepOperands& operation, const Dims& x, const Dims& y);
Averaging averaging_of(const StepOperands& operation, const Pooling& pooling);

/// An adaptive pooling's windows, by dimension, then output position: [floor(o·in/out), ceil((o+1)·in/out)), as in PyTorch's
/// start_index and end_index.
std::vector<std::vector<Window>> adaptive_windows(const Dims& x, const Dims& y);

/// Adaptive average pooling as an ordinary one if all windows are alike, else by its windows.
Averaging adaptive_pooling_of(const Dims& x, const Dims& y, Pooling& pooling);

/// dy's dims with the spatial sizes of the attribute `size`: the dims of a backward step's x. Its output must
/// have them.
Dims pooled_from(const StepOperands& operation);

}  // namespace sheaf
