// A window that moves along a dimension: the one rule for convolutions and pools.
#pragma once

#include "runtime/base/error.h"
#include "runtime/base/extent.h"
#include "runtime/ops/traits.h"

namespace sheaf {

/// In elements; `dilation` counts from 1.
struct SlidingWindow {
  int64_t size = 1, stride = 1, dilation = 1, padding_begin = 0, padding_end = 0;
  bool ceil_mode = false;

  /// From its first element to its last.
  int64_t span() const { return dilation * (size - 1) + 1; }
};

/// Attributes of windows: wide enough for any layer; with sizes below 2^40, products stay within 64 bits.
inline constexpr int64_t kLargestStep = 1 << 20;
/// A size of a tensor, as an attribute.
inline constexpr int64_t kLargestSize = int64_t{1} << 40;

/// How many places the window has along `size` elements: floor((size + paddings - span) / stride) + 1. With `ceil_mode` the
/// quotient is rounded up, but the last window starts in the input or the padding before it (pooling_output_shape in
/// PyTorch's aten/src/ATen/native/Pool.h). An unknown size stays unknown. Errors: no place; a size that depends on the
/// batch and whose number of places isn't linear in it.
Result<Extent> places(const Extent& size, const SlidingWindow& window);

/// The windows given by attributes, one list each; empty lists mean 1 (dilation) and 0 (padding).
std::vector<SlidingWindow> sliding_windows(std::span<const int64_t> sizes, std::span<const int64_t> stride,
                                           std::span<const int64_t> dilation, std::span<const int64_t> padding_begin,
                                           std::span<const int64_t> padding_end, bool ceil_mode);

/// `x` [N, C, s…] with its last dimensions replaced by the windows' places. Errors name the dimension.
Result<Shape> places_in(const Shape& x, std::span<const SlidingWindow> windows);

/// [N, C, s…], or [C, s…] if that may lack the batch; `what` names it.
Result<void> check_image(const Shape& image, size_t spatial, bool unbatched, std::string_view what);

}  // namespace sheaf
