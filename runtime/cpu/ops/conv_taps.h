// Convolution of small images as matrix products over the batch.
//
// oneDNN's direct convolution works row by row of the output: with rows of 4 pixels it reaches half of the
// machine's speed, and it multiplies the padding too. In channels-last order each kernel row over one output
// pixel is instead a product over all images at once, without any copy:
//
//   y[:, oh, ow, :] += x[:, ih, iw0…iw1, :] · weight[kh, kw0…kw1, :, :]      [N × K] · [K × O], K = (kw1 -
//   kw0) · I
//
// where kw0…kw1 leaves out what falls into the padding. Sums are plain f32 sums, as in direct convolution.
// The weight lies as hwio, where each such part of a kernel row is a matrix as it stands.
#pragma once

#include "runtime/bind/conv_shape.h"
#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// Whether taps are the better choice: 2-D, one group, undilated, rows of at most 4 output pixels, and enough
/// images and channels to fill the products. Depends on sizes alone, so that results do not depend on the
/// machine's mood.
bool taps_pay(const ConvShape& shape, int threads);

Prepared prepare_conv_taps(const Operation& operation, const ConvShape& shape);

}  // namespace sheaf
