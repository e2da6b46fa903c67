// 1×1 convolutions of images that lie pixel by pixel (hwnc), and their gradients, by oneDNN.
//
// Such a convolution is one product, [pixels · images, I] · [I, O], whatever it calls image, row and column: [N, C, H, W] as
// hwnc is [H, C, W, N] as nhwc. So that between 3×3 convolutions which work pixel by pixel (conv_winograd.h) nothing is
// reordered.
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
