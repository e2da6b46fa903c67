// Launches of runtime/cuda/kernels/planes.cu: sums by channel and batch norm in the plain format, by vectors along a channel's positions.
#pragma once

#include "runtime/cuda/channel_sums.h"

namespace sheaf::cuda {

/// Whether a channel's positions in an image, in the plain format, are whole vectors of 16 bytes (and there are fewer than 2³¹ of them).
bool goes_by_planes(const BatchNormCall& norm);

/// What is summed of each value x of a channel: x; (x - mean)²; the gradient g that the mask lets through, and g · (x - mean) / sqrt(var + eps).
enum class PlaneSums { values, squares, gradients };

/// How many parts of a channel's values are summed side by side: sums[part][channel], pairs of f32. Depends on the sizes alone.
uint64_t plane_parts(const BatchNormCall& norm);
KernelCall plane_sums_call(OwnKernels& kernels, PlaneSums of, const BatchNormCall& norm, MemoryRef sums);

/// y, and the mask, by mean and var.
KernelCall normalize_planes_call(OwnKernels& kernels, const BatchNormCall& norm);
/// dx, and the gradient for others, by the sums in dbias and dweight.
KernelCall slope_planes_call(OwnKernels& kernels, const BatchNormCall& norm);

}  // namespace sheaf::cuda
