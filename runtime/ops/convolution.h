// Convolutions and their transposes over one to three dimensions, and their gradients.
#pragma once

#include "runtime/ops/window.h"

namespace sheaf {

/// y [N, O, s…] for x [N, I, s…] (or both without N, if `unbatched`) and weight [O, I/g, k…]. `windows` are of the weight's
/// spatial sizes.
Result<Shape> convolved_shape(const Shape& x, const Shape& weight, int64_t groups, std::span<const SlidingWindow> windows,
                              bool unbatched = false);

}  // namespace sheaf
