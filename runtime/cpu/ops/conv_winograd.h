// Convolutions with 3×3 kernels and their gradients by Winograd's algorithm (--numerics fast): 36 multiplications for a
// tile of 4×4 pixels instead of 144. The arithmetic: runtime/cpu/winograd/kernels.h.
//
// Activations are stored pixel by pixel (hwnc), as for the products over the batch (conv_pixels.h) that are between them in a
// network: a transform then is a sum of runs of memory, without edges, and no activation is ever reordered. (In inference of
// few images they may be nhwc, and a run is an image's channels.) Blocks of tiles are transformed, multiplied and
// transformed back one after the other. The weight is in hwio and is transformed at each run; its gradient has the same
// layout. Sums are f32. With bf16 activations and weights, y is made with operands in f32, and the gradients with operands
// rounded to bf16 after the transform (kernels.h). On a CPU with AMX the transforms of f32 may be split.
//
// oneDNN 2.6 has Winograd in channel blocks (x86-64-v4 only), which takes 1.5 to 3 times as long (docs/performance.md).
#pragma once

#include "runtime/steps/conv_shape.h"
#include "runtime/cpu/ops/pixel_operation.h"

namespace sheaf {

/// Whether it can do this convolution, and so its gradients: 3×3, stride 1, 32 channels or more, --numerics fast. An activation
/// (forward) can only be a ReLU, with any slope below zero.
bool winograd_fits(const Operation& operation, const ConvShape& shape);

/// Whether it takes activations with channels last instead of pixel by pixel: in inference of few images, whose neighbours mostly are
/// oneDNN's convolutions.
bool winograd_channels_last(const Operation& operation, const ConvShape& shape);

/// For explain.
const char* winograd_reason();

// `operands`: split only if split_fits().
Prepared prepare_conv_winograd(const Operation& operation, const ConvShape& shape, Operands operands);
/// Of conv_backward_data, or of conv_transpose and its mirror (mirrored_conv_shape()).
Prepared prepare_conv_backward_data_winograd(const Operation& operation, const ConvShape& shape, Operands operands);
Prepared prepare_conv_backward_weight_winograd(const Operation& operation, const ConvShape& shape, Operands operands);

/// Whether the last can have split operands: a block's images are whole units of the depth.
bool winograd_weight_split_fits(const Operation& operation, const ConvShape& shape);

}  // namespace sheaf
