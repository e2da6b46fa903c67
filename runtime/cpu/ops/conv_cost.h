// The cost model of convolutions: seconds by each implementation, roughly (docs/cpu-choices.md).
#pragma once

#include "runtime/cpu/ops/conv_direct.h"
#include "runtime/cpu/ops/pixel_operation.h"

namespace sheaf {

double winograd_seconds(const Operation& operation, const ConvShape& shape, ConvResult result, Operands operands);
double pixels_seconds(const Operation& operation, const ConvShape& shape, ConvResult result, Operands operands);
double pointwise_seconds(const Operation& operation, const ConvShape& shape, ConvResult result);
double depthwise_seconds(const Operation& operation, const ConvShape& shape, ConvResult result);
/// Of a transposed convolution, by one matrix product and by oneDNN's deconvolution (conv_transpose.h).
double pixel_product_seconds(const Operation& operation, const ConvShape& mirror);
double transpose_seconds(const Operation& operation, const ConvShape& mirror);
double direct_seconds(const Operation& operation, const ConvShape& shape, ConvResult result, Layout layout);

}  // namespace sheaf
