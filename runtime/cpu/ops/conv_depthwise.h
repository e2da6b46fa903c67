// Gradients of depthwise convolutions by weight, of images with channels last, in registers of channels: a tap's sum stays in one for a row
// of pixels. oneDNN 2.6 has code of its own for kernels three wide at most, and takes a product of matrices a channel for wider ones.
#pragma once

#include "runtime/steps/conv_shape.h"
#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// Whether each channel is convolved by itself, to one, in one or two spatial dimensions, and the channels fill registers.
bool depthwise_fits(const Operation& operation, const ConvShape& shape);

Prepared prepare_conv_backward_weight_depthwise(const Operation& operation, const ConvShape& shape);

}  // namespace sheaf
