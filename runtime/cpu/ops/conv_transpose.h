// Transposed convolution by oneDNN. `mirror`: mirrored_conv_shape().
#pragma once

#include "runtime/cpu/ops/operation.h"
#include "runtime/steps/conv_shape.h"

namespace sheaf {

/// Whether it spreads out a single pixel to just the kernel's size, as the first layer of an image generator does.
bool is_one_pixel(const Operation& operation, const ConvShape& mirror);
/// One matrix product, if is_one_pixel(): oneDNN's deconvolution takes several times as long.
Prepared prepare_conv_transpose_product(const Operation& operation, const ConvShape& mirror);

/// oneDNN's deconvolution.
Prepared prepare_conv_transpose_direct(const Operation& operation, const ConvShape& mirror);

}  // namespace sheaf
