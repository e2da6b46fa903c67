// Convolutions of small images, and their gradients, as matrix products over the batch.
//
// Where activations lie pixel by pixel (hwnc: [h][w][image][channel]), a pixel is a matrix [N × C], and neighbours in
// a row are one matrix. Under a tap (kh, kw) of the kernel a run of pixels of x meets a run of pixels of y
// (pixel_runs.h), and a convolution and its gradients are products of those as they stand, without any copy:
//
//   y[run]          += x[run] · weight[kh, kw]         [n × I] · [I × O], n = pixels of the run · images
//   dx[run]         += dy[run] · weight[kh, kw]ᵀ       [n × O] · [O × I]
//   dweight[kh, kw] += x[run]ᵀ · dy[run]               [I × n] · [n × O]
//
// What falls into the padding has no run, so it costs nothing: that is 31% of a 3×3 convolution over 4×4 pixels,
// 18% over 7×7. oneDNN's direct convolution works row by row of one image, which suits short rows badly, and strides
// worse. Sums are plain f32 sums, as in direct convolution. The weight lies as hwio, where each tap is a matrix.
#pragma once

#include "runtime/bind/conv_shape.h"
#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// What is made of the other two tensors of a convolution.
enum class ConvResult { y, dx, dweight };

/// Whether products over the batch are the better choice. Depends on sizes alone, so that results do not depend on
/// the machine's mood. `training`: the weight changes from step to step. `fast`: Winograd is allowed.
bool pixels_pay(const ConvShape& shape, ConvResult result, bool training, bool fast);

/// Each pixel of y must see a pixel of x: every_pixel_is_reached().
Prepared prepare_conv_pixels(const Operation& operation, const ConvShape& shape);
Prepared prepare_conv_backward_data_pixels(const Operation& operation, const ConvShape& shape);
Prepared prepare_conv_backward_weight_pixels(const Operation& operation, const ConvShape& shape);

}  // namespace sheaf
