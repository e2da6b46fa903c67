// 1×1 convolutions of images stored pixel by pixel (hwnc), and their gradients, by oneDNN.
//
// Such a convolution is one product, [pixels · images, I] · [I, O], whatever it calls image, row and column: [N, C, H, W] in
// hwnc is [H, C, W, N] in nhwc. So nothing is reordered between 3×3 convolutions which work pixel by pixel
// (conv_winograd.h).
#pragma once

#include "runtime/steps/conv_shape.h"
#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// Whether the convolution is 1×1 without stride or padding.
bool pointwise_fits(const Operation& operation, const ConvShape& shape);

Prepared prepare_conv_pointwise(const Operation& operation, const ConvShape& shape);
Prepared prepare_conv_backward_data_pointwise(const Operation& operation, const ConvShape& shape);
Prepared prepare_conv_backward_weight_pointwise(const Operation& operation, const ConvShape& shape);

}  // namespace sheaf
