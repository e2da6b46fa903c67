// Shared by this project's own convolutions of images stored pixel by pixel (conv_winograd.h, conv_pixels.h).
#pragma once

#include "runtime/steps/conv_shape.h"
#include "runtime/cpu/ops/operation.h"
#include "runtime/cpu/winograd/kernels.h"

namespace sheaf {

/// From this many images on products over the batch reach their rate, and activations in inference tend to be stored for them; with fewer
/// the cost model charges more, and Winograd in inference takes them in the layout of oneDNN's convolutions.
constexpr int64_t many_images = 32;

/// What products multiply: values as they are stored, or those of f32 split into two parts of bf16.
enum class Operands { whole, split };

/// The arithmetic for the operation's dtype; null if the CPU has none. `narrow`: bf16 operands may stay bf16.
const winograd::KernelTable* pixel_kernels(const Operation& operation, bool narrow, Operands operands = Operands::whole);

/// Whether f32 values may be split: --numerics fast, a CPU with such products, and channels in whole units of their depth.
bool split_fits(const Operation& operation, const ConvShape& shape);

/// Elements along `count` values of a depth, and the zeros behind them.
inline int64_t elements_along(const winograd::KernelTable& kernels, int64_t count) {
  return (count + kernels.depth_unit - 1) / kernels.depth_unit * kernels.depth_unit / kernels.pair;
}

/// Whether the arithmetic can do the convolution (or its gradients) at all: 2-D, one group, undilated, channels in whole
/// registers, no activation but ReLU, and operands as they are stored.
bool pixels_fit(const Operation& operation, const ConvShape& shape);

/// The operation's residual and activation; its bias is filled in when it runs.
winograd::Finish pixel_finish(const Operation& operation);

/// For explain.
const char* pixels_reason();
/// `reason`, and that operands are split.
std::string reason_of(const char* reason, Operands operands);

}  // namespace sheaf
