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

}  // namespace sheaf
