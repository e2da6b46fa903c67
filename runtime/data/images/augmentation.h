// How a picture is brought to the model's size: torchvision's transforms, and their random draws.
#pragma once

#include "runtime/data/images/picture.h"
#include "runtime/data/images/resample.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// The options behind `images:DIR`, in the order in which they apply.
struct ImageOptions {
  bool random_resized_crop = false;  ///< RandomResizedCrop: 8 to 100% of the picture, sides 3:4 to 4:3
  bool resize = false;               ///< Resize, …
  std::optional<int> shorter;        ///< the length of the shorter side; without it both sides get the model's size
  bool crop = false;                 ///< CenterCrop
  std::optional<int> random_crop;    ///< RandomCrop, with this many black pixels put around the picture first
  bool flip = false;                 ///< RandomHorizontalFlip: every other picture
  std::optional<std::array<float, 3>> mean, deviation;  ///< Normalize, of numbers from 0 to 1; a model of one channel has one

  bool random() const { return random_resized_crop || random_crop || flip; }
};

/// Reads NAME[=VALUE] of each option. Errors: an unknown one, a value that is missing, superfluous or not a number, two options
/// one of which makes the other useless.
Result<ImageOptions> parse_image_options(const std::vector<std::string>& options);

/// The random draws for one row in one epoch.
struct RowDraws {
  uint64_t seed = 0;
  int64_t epoch = 0, row = 0;

  /// Uniform in [0, 1) for draws number 0 … 15, four of each.
  std::array<double, 4> units(int draw) const;
};

/// Which pixels of a picture are needed, scaled how, and where they go.
struct PictureRegion {
  PictureSize target;                            ///< the model's size
  int left = 0, top = 0, width = 0, height = 0;  ///< the part of the picture that is used
  PictureSize scaled;                            ///< the size to which that part is scaled
  int shift_x = 0, shift_y = 0;  ///< the scaled pixel that comes to the target's left top one: negative with padding
  bool flipped = false;

  /// The largest of 1, 2, 4, 8 by which a JPEG may be shrunk when it is decoded, so that at least twice the needed pixels are
  /// left in both directions: the resampled result is then close to that from the whole picture (docs/data.md).
  int divisor() const;
  /// How resample() gets it from a picture that the decoder shrank from `whole` to `decoded`: the scaled pixels in the target.
  ResampledAxis across(int whole, int decoded) const;
  ResampledAxis down(int whole, int decoded) const;
  /// The first target pixel that isn't padding.
  int padded_left() const { return shift_x < 0 ? -shift_x : 0; }
  int padded_top() const { return shift_y < 0 ? -shift_y : 0; }
};

/// Errors, without a place: no option brings the picture to the model's size, a crop is larger than the picture.
Result<PictureRegion> region_of(const ImageOptions& options, PictureSize picture, PictureSize target, const RowDraws& draws);

}  // namespace sheaf
