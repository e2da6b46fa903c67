// The layout of products over the batch (conv_pixels.h), which is this project's own.
#pragma once

#include "runtime/cpu/dnnl_format.h"

namespace sheaf {

/// [N, C, H, W] pixel by pixel, "hwnc"; to an operation that treats images and pixels alike it is [H, C, W, N] in nhwc.
DnnlDesc pixels_desc(const DnnlDims& dims);

/// As desc_at_hand(), but nhwc for what lies pixel by pixel: oneDNN's pooling would fall back to its reference loops.
DnnlDesc library_desc_at_hand(const TensorSpec& spec, const DnnlDesc& plain);

}  // namespace sheaf
