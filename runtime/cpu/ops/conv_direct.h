// Convolutions and their gradients by oneDNN's direct convolution, of f32 or of bf16 values with f32 sums, in several layouts.
#pragma once

#include "runtime/steps/conv_shape.h"
#include "runtime/cpu/ops/conv_result.h"

namespace sheaf {

/// The layout of activations.
enum class Layout {
  any,     ///< as oneDNN prefers
  blocks,  ///< in blocks of 16 channels; images of up to 4 channels plain
  last,    ///< channels last, for oneDNN's brgconv
};

/// Whether oneDNN has such a convolution; for `any` it always does.
bool direct_fits(const Operation& operation, const ConvShape& shape, ConvResult result, Layout layout);

Prepared prepare_conv_direct(const Operation& operation, const ConvShape& shape, Layout layout);
Prepared prepare_conv_backward_data_direct(const Operation& operation, const ConvShape& shape, Layout layout);
Prepared prepare_conv_backward_weight_direct(const Operation& operation, const ConvShape& shape, Layout layout);

}  // namespace sheaf
