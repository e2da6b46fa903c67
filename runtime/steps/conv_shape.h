// Sizes of a convolution step, checked.
#pragma once

#include "runtime/steps/step_operands.h"

namespace sheaf {

/// `weight` is [O, I, k…] or, with groups, [g, O/g, I/g, k…]; `dilation` counts from 1.
struct ConvShape {
  Dims x, weight, bias, y, stride, dilation, padding_begin, padding_end;
  int64_t groups = 1;
};

/// x [N, I, s…], weight [O, I/g, k…], y [N, O, s…] with 1 to 3 spatial dims.
ConvShape conv_shape(const StepOperands& operation);

/// The same for the given shapes, without a bias: for gradients, where x or weight is the result. `y_name`
/// is the name of y in messages.
ConvShape conv_shape(const StepOperands& operation, const Dims& x, const Dims& weight, const Dims& y,
                     const std::string& y_name);

/// The convolution whose gradient by its input a transposed convolution is: its y has the shape of the step's x, its x and its bias
/// those of the step's y. What the step adds to its output's end makes `padding_end` smaller, perhaps less than 0.
ConvShape mirrored_conv_shape(const StepOperands& operation);

/// The attribute `name` (an input's or a kernel's spatial sizes) beside operands of this rank; all at
/// least 1.
Dims spatial_sizes(const StepOperands& operation, const char* name, size_t rank);

}  // namespace sheaf
