// Pools: PyTorch's MaxPool, AvgPool and AdaptiveAvgPool over one to three dimensions, and their gradients.
#pragma once

#include "runtime/ops/window.h"

namespace sheaf {

/// For a pooling operation or its gradient: whether it takes the largest element of a window, or the average.
bool takes_maximum(Op op);
/// Whether its windows come from the sizes of input and result, rather than from attributes.
bool is_adaptive(Op op);

/// An error if a window's padding is more than half of its span: PyTorch's rule, so that each window has an element.
Result<void> check_pool_padding(const SlidingWindow& window);

/// y's shape for x [N, C, s…] (or [C, s…], if `unbatched`).
Result<Shape> pooled_shape(const Shape& x, std::span<const SlidingWindow> windows, bool unbatched = false);

}  // namespace sheaf
