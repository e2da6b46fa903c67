// Convolutions of small images, and their gradients, as matrix products over the batch.
//
// If activations are stored pixel by pixel (hwnc: [h][w][image][channel]), a pixel is a matrix [N × C]. Where a pixel of y sees
// a pixel of x through a tap (kh, kw) of the kernel (pixel_meetings.h), a convolution and its gradients are products of
// those as they are, without any copy of f32:
//
//   y[pixel]        += x[pixel'] · weight[kh, kw]         [N × I] · [I × O]
//   dx[pixel']      += dy[pixel] · weight[kh, kw]ᵀ        [N × O] · [O × I]
//   dweight[kh, kw] += x[pixel']ᵀ · dy[pixel]             [I × N] · [N × O]
//
// A transposed convolution is computed as dx, of x instead of dy, with a bias and an activation as y has them.
//
// Pixels in the padding meet nothing and so cost nothing: that is 31% of a 3×3 convolution over 4×4 pixels, 18%
// over 7×7. oneDNN's direct convolution works row by row of one image, which suits short rows badly, and strides worse.
// Sums are plain f32 sums, as in direct convolution, of f32 or of bf16 values. The weight is in hwio, where each tap is a
// matrix, and is packed into panels at each run; in inference it comes in panels, if values aren't split. The products are this project's own (runtime/cpu/winograd/multiply.inc.h): oneDNN 2.6 packs its operands again at
// each call, and has none that sums bf16 over several calls.
#pragma once

#include "runtime/steps/conv_shape.h"
#include "runtime/cpu/ops/conv_result.h"
#include "runtime/cpu/ops/pixel_operation.h"

namespace sheaf {

// An activation (forward) can only be a ReLU, with any slope below zero: pixels_fit() in pixel_operation.h. `operands`: split only if
// split_fits().
Prepared prepare_conv_pixels(const Operation& operation, const ConvShape& shape, Operands operands);
/// Of conv_backward_data, or of conv_transpose and its mirror (mirrored_conv_shape()).
Prepared prepare_conv_backward_data_pixels(const Operation& operation, const ConvShape& shape, Operands operands);
Prepared prepare_conv_backward_weight_pixels(const Operation& operation, const ConvShape& shape, Operands operands);

}  // namespace sheaf
