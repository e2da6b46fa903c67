// Which pixels of x and y meet under which tap of a kernel: the combinatorial part of convolutions as products over the
// batch (conv_pixels.h).
#pragma once

#include "runtime/steps/conv_shape.h"

namespace sheaf {

/// Pixel `y` sees pixel `x` through `tap`. Pixels count as h · width + w, taps as kh · kernel width + kw.
struct Meeting {
  int64_t y = 0, x = 0, tap = 0;
};

/// All of them, for a 2-D, undilated convolution, by y and tap. Padding occurs in none.
std::vector<Meeting> meetings(const ConvShape& shape);

}  // namespace sheaf
