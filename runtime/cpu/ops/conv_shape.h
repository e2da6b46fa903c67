// Sizes of a convolution step, checked.
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// In oneDNN's terms: `weight` is [O, I, k…] or, with groups, [g, O/g, I/g, k…]; `dilation` counts from 1.
struct ConvShape {
  DnnlDims x, weight, bias, y, stride, dilation, padding_begin, padding_end;
  int64_t groups = 1;
};

/// x [N, I, s…], weight [O, I/g, k…], y [N, O, s…] with 1 to 3 spatial dims.
ConvShape conv_shape(const Operation& operation);

/// The same of the shapes given, without a bias: for gradients, where x or weight is what is made. `y_name`
/// is what messages call y.
ConvShape conv_shape(const Operation& operation, const DnnlDims& x, const DnnlDims& weight, const DnnlDims& y,
                     const std::string& y_name);

/// The dilation as oneDNN counts it: elements left out between two taps.
DnnlDims conv_gaps(const ConvShape& shape);

/// The attribute `name` (an input's or a kernel's spatial sizes) beside operands of this rank; all at
/// least 1.
DnnlDims spatial_sizes(const Operation& operation, const char* name, size_t rank);

}  // namespace sheaf
