// The project's own layout for Winograd (conv_winograd.h) and products over the batch (conv_pixels.h).
#pragma once

#include "runtime/cpu/dnnl/dnnl_format.h"

namespace sheaf {

/// [N, C, H, W] pixel by pixel, "hwnc"; for an operation that treats images and pixels alike it is [H, C, W, N] in nhwc.
DnnlDesc pixels_desc(const DnnlDims& dims, dnnl::memory::data_type type = dnnl::memory::data_type::f32);
TensorSpec pixels_tensor(const DnnlDims& dims, dnnl::memory::data_type type = dnnl::memory::data_type::f32);

/// A weight [O, I, h, w] tap by tap, "hwio".
DnnlDesc taps_desc(const DnnlDims& weight, dnnl::memory::data_type type = dnnl::memory::data_type::f32);
TensorSpec taps_tensor(const DnnlDims& weight, dnnl::memory::data_type type = dnnl::memory::data_type::f32);

/// The weight as products over the batch read it, and as winograd::KernelTable::pack_weight() lays it out: for each tap, panels of
/// `panel` channels of y (of x, if `gradient`), in each of them the other channels one after the other, `pair` of them side by side.
/// Missing channels of the last panel are zeros.
TensorSpec panels_tensor(const DnnlDims& weight, dnnl::memory::data_type type, bool gradient, int64_t panel, int64_t pair);

/// Activations of 4 or 5 dims in blocks of as many channels as the CPU's registers hold, or, if those don't divide them, with channels last.
DnnlDesc wide_desc(const DnnlDims& dims, dnnl::memory::data_type type);

/// Whether activations are in blocks of 4 channels, which oneDNN's convolutions of 4 channels a group make: its batch norm and pooling have only
/// their reference loops for those, which take 50 times as long.
bool in_blocks_of_4(const DnnlDesc& desc);

/// As desc_at_hand(), but another layout where oneDNN's pooling would fall back to its reference loops: nhwc for tensors stored pixel by pixel,
/// wide_desc() for blocks of 4.
DnnlDesc library_desc_at_hand(const TensorSpec& spec, const DnnlDesc& plain);

}  // namespace sheaf
