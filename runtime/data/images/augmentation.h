// How a picture becomes the size that a model takes: torchvision's transforms, and what they draw.
#pragma once

#include "runtime/data/images/picture.h"
#include "runtime/data/images/resample.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// The options behind `images:DIR`, in the order in which they act.
struct ImageOptions {
  bool random_resized_crop = false;  ///< RandomResizedCrop: 8 to 100% of the picture, sides 3:4 to 4:3
  bool resize = false;               ///< Resize, …
  std::optional<int> shorter;        ///< of the shorter side to this; without it of both sides to the model's size
  bool crop = false;                 ///< CenterCrop
  std::optional<int> random_crop;    ///< RandomCrop, after so many black pixels are put around the picture
  bool flip = false;                 ///< RandomHorizontalFlip: every other picture
  std::optional<std::array<float, 3>> mean, deviation;  ///< Normalize, of numbers from 0 to 1; a model of one channel has one

  bool random() const { return random_resized_crop || random_crop || flip; }
};

/// Reads NAME[=VALUE] of each option. Errors: an unknown one, a value that is missing, superfluous or no number, two options of which one
/// leaves nothing to the other.
Result<ImageOptions> parse_image_options(const std::vector<std::string>& options);

/// What is drawn for one row in one epoch.
struct RowDraws {
  uint64_t seed = 0;
  int64_t epoch = 0, row = 0;

  /// Uniform in [0, 1) for draws number 0 … 15, four of each.
  std::array<double, 4> units(int draw) const;
};

/// Which pixels of a picture are wanted, scaled how, and where they go.
struct PictureRegion {
  PictureSize target;                            ///< what the model takes
  int left = 0, top = 0, width = 0, height = 0;  ///< the part of the picture that is looked at
  PictureSize scaled;                            ///< what that part is scaled to
  int shift_x = 0, shift_y = 0;  ///< the scaled pixel that comes to the target's left top one: negative with padding
  bool flipped = false;

  /// The largest of 1, 2, 4, 8 by which a JPEG may be shrunk when it is decoded, so that at least twice the pixels are left that are
  /// needed in both directions: what the resampling then gives is close to that from the whole picture (docs/data.md).
  int divisor() const;
  /// How resample() gets it from a picture that the decoder shrank from `whole` to `decoded`: the scaled pixels that lie in the target.
  ResampledAxis across(int whole, int decoded) const;
  ResampledAxis down(int whole, int decoded) const;
  /// The first target pixel that isn't padding.
  int padded_left() const { return shift_x < 0 ? -shift_x : 0; }
  int padded_top() const { return shift_y < 0 ? -shift_y : 0; }
};

/// Errors, without a place: the picture isn't of the model's size and no option makes it so, a crop is larger than the picture.
Result<PictureRegion> region_of(const ImageOptions& options, PictureSize picture, PictureSize target, const RowDraws& draws);

}  // namespace sheaf
