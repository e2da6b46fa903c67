// Resizing with the bilinear filter of Pillow, which torchvision's Resize uses: shrinking averages over all pixels that an
// output pixel covers. The same bits as Pillow's.
#pragma once

#include "runtime/data/images/picture.h"

#include <vector>

namespace sheaf {

/// The mapping along one dimension. Only the input pixels from `low` to `high` - 1 exist; counted from there, `from` to `to`
/// (fractions allowed) become `size` pixels, of which `count` from number `first` on are needed.
struct ResampledAxis {
  double from = 0, to = 0;
  int size = 0;
  int first = 0, count = 0;
  int low = 0, high = 0;
};

/// Memory reused from picture to picture.
struct ResampleScratch {
  std::vector<uint8_t> rows;
  std::vector<int> sums, weights_x, weights_y;
};

/// Fills `to` with the needed pixels of `from`.
void resample(const Picture& from, const ResampledAxis& x, const ResampledAxis& y, ResampleScratch& scratch, Picture& to);

}  // namespace sheaf
