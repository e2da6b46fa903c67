// Which pixels of a small image meet under which tap of a kernel: the combinatorial part of convolutions as matrix
// products (conv_pixels.h).
#pragma once

#include "runtime/bind/conv_shape.h"
#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// `length` neighbouring pixels in a row of y, and those of x that they see through one tap of the kernel. Pixels
/// count as h · width + w, taps as kh · kernel width + kw.
struct TapRun {
  int64_t tap = 0, x_pixel = 0, y_pixel = 0;
  int64_t length = 1;  ///< more than 1 only with stride 1 along the row
};

/// All of them, of a 2-D, undilated convolution, by row of y and tap. What falls into the padding is in none.
std::vector<TapRun> tap_runs(const ConvShape& shape);

/// False where a pixel of y sees nothing but padding.
bool every_pixel_is_reached(const ConvShape& shape);

/// A run that adds to `length` pixels from `target` on: the target being y (forward) or x (gradient by x).
struct PixelSum {
  int64_t target = 0, source = 0, tap = 0;
  int64_t length = 1;
  bool first = false, last = false;  ///< of all that add to these pixels
};

struct PixelPlan {
  std::vector<PixelSum> sums;      ///< in the order in which they must be added
  std::vector<int64_t> untouched;  ///< pixels that no sum reaches
};

/// Orders sums so that each pixel has a first and a last one. A row of the target (`height` rows of `width`) stays
/// in runs where two or more of them span it, or the only one does: one begins, another ends; else it is cut into
/// pixels.
PixelPlan plan_pixels(std::vector<PixelSum> sums, int64_t height, int64_t width);

}  // namespace sheaf
