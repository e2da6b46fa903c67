// Sizes of a pooling step, checked.
#pragma once

#include "runtime/cpu/ops/operation.h"
#include "runtime/cpu/ops/window_average.h"

namespace sheaf {

/// In PyTorch's terms (dilation counts from 1), with the padding that the last window needs.
struct Pooling {
  DnnlDims x, y, kernel, stride, dilation, padding_begin, padding_end;
  size_t spatial() const { return kernel.size(); }
  bool dilated() const;
  /// The dilation as oneDNN counts it: elements left out between two of a window.
  DnnlDims gaps() const;
};

/// An average pooling's way: oneDNN's algorithm, with a factor for another divisor than it has; or, where the
/// divisors differ from window to window as oneDNN's can't, the windows.
struct Averaging {
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_avg_include_padding;
  float scale = 1;
  std::vector<std::vector<Window>> windows;  ///< by dimension, then output position; empty: oneDNN's way
};

/// x and y [N, C, s…] with 1 to 3 spatial dims, whose sizes the step's attributes must relate as PyTorch
/// does.
Pooling pooling_of(const Operation& operation, const DnnlDims& x, const DnnlDims& y);
Averaging averaging_of(const Operation& operation, const Pooling& pooling);

/// Adaptive average pooling as an equal one where the windows are all alike, else by its windows.
/// Window of output o: [floor(o·in/out), ceil((o+1)·in/out)), as in PyTorch's start_index and end_index.
Averaging adaptive_pooling_of(const DnnlDims& x, const DnnlDims& y, Pooling& pooling);

/// dy's dims with the spatial sizes of the attribute `size`: x's dims, of a backward step. Its output must
/// have them.
DnnlDims pooled_from(const Operation& operation);

}  // namespace sheaf
