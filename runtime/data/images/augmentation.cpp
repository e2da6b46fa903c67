#include "runtime/data/images/augmentation.h"

#include "runtime/base/philox.h"

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

// Numbers of draws: ten attempts of a random resized crop come first.
constexpr int kAttempts = 10, kCropDraw = 10, kFlipDraw = 11, kDraws = 16;

int below(double unit, int bound) { return static_cast<int>(unit * bound); }

std::string text_of(PictureSize size) { return std::to_string(size.width) + " x " + std::to_string(size.height); }

/// torchvision.transforms.RandomResizedCrop.get_params with its defaults.
void choose_part(PictureRegion& region, PictureSize picture, const RowDraws& draws) {
  constexpr double kLeastArea = 0.08, kLeastRatio = 3.0 / 4, kMostRatio = 4.0 / 3;
  const double area = static_cast<double>(picture.width) * picture.height;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto unit = draws.units(attempt);
    const double part = area * (kLeastArea + unit[0] * (1 - kLeastArea));
    const double ratio = std::exp(std::log(kLeastRatio) + unit[1] * (std::log(kMostRatio) - std::log(kLeastRatio)));
    const int width = static_cast<int>(std::nearbyint(std::sqrt(part * ratio)));
    const int height = static_cast<int>(std::nearbyint(std::sqrt(part / ratio)));
    if (width <= 0 || height <= 0 || width > picture.width || height > picture.height) continue;
    region.width = width;
    region.height = height;
    region.top = below(unit[2], picture.height - height + 1);
    region.left = below(unit[3], picture.width - width + 1);
    return;
  }
  const double ratio = static_cast<double>(picture.width) / picture.height;
  region.width = ratio > kMostRatio ? static_cast<int>(std::nearbyint(picture.height * kMostRatio)) : picture.width;
  region.height = ratio < kLeastRatio ? static_cast<int>(std::nearbyint(picture.width / kLeastRatio)) : picture.height;
  region.left = (picture.width - region.width) / 2;
  region.top = (picture.height - region.height) / 2;
}

/// torchvision.transforms.Resize.
PictureSize resized(const ImageOptions& options, PictureSize picture, PictureSize target) {
  if (!options.resize) return picture;
  if (!options.shorter) return target;
  const auto longer = [&](int side, int other) {
    return static_cast<int>(static_cast<int64_t>(*options.shorter) * side / other);
  };
  if (picture.width <= picture.height) return {*options.shorter, longer(picture.height, picture.width)};
  return {longer(picture.width, picture.height), *options.shorter};
}

ResampledAxis axis_of(int part_first, int part, int scaled, int shift, int target, int whole, int decoded) {
  ResampledAxis axis;
  // If the decoder shrank the picture, the part's edges may be within pixels.
  const double shrunk = part == whole && decoded == whole ? 1 : static_cast<double>(decoded) / whole;
  const double from = part_first * shrunk, to = (part_first + part) * shrunk;
  axis.low = std::clamp(static_cast<int>(std::floor(from + 1e-9)), 0, decoded - 1);
  axis.high = std::clamp(static_cast<int>(std::ceil(to - 1e-9)), axis.low + 1, decoded);
  axis.from = from - axis.low;
  axis.to = to - axis.low;
  axis.size = scaled;
  axis.first = std::max(shift, 0);
  axis.count = std::max(std::min(shift + target, scaled) - axis.first, 0);
  return axis;
}

}  // namespace

std::array<double, 4> RowDraws::units(int draw) const {
  const PhiloxSequence sequence(seed, stream_of("augmentation") + static_cast<uint64_t>(epoch));
  const auto words = sequence.words(static_cast<uint64_t>(row) * kDraws + static_cast<uint64_t>(draw));
  std::array<double, 4> units;
  std::ranges::transform(words, units.begin(), PhiloxSequence::unit);
  return units;
}

int PictureRegion::divisor() const {
  int divisor = 1;
  while (divisor < 8 && width >= 2 * (2 * divisor) * scaled.width && height >= 2 * (2 * divisor) * scaled.height) divisor *= 2;
  return divisor;
}

ResampledAxis PictureRegion::across(int whole, int decoded) const {
  return axis_of(left, width, scaled.width, shift_x, target.width, whole, decoded);
}

ResampledAxis PictureRegion::down(int whole, int decoded) const {
  return axis_of(top, height, scaled.height, shift_y, target.height, whole, decoded);
}

Result<PictureRegion> region_of(const ImageOptions& options, PictureSize picture, PictureSize target, const RowDraws& draws) {
  PictureRegion region{target, 0, 0, picture.width, picture.height, target, 0, 0, false};
  if (options.flip) region.flipped = draws.units(kFlipDraw)[0] < 0.5;
  if (options.random_resized_crop) {
    choose_part(region, picture, draws);
    return region;
  }
  region.scaled = resized(options, picture, target);
  if (region.scaled.width <= 0 || region.scaled.height <= 0 ||
      int64_t{region.scaled.width} * region.scaled.height > kMostPixels)
    return Error("a picture of " + text_of(picture) + " pixels can't be resized to " + text_of(region.scaled));
  if (!options.crop && !options.random_crop) {
    if (region.scaled.width == target.width && region.scaled.height == target.height) return region;
    return Error("it has " + text_of(region.scaled) + " pixels" + (options.resize ? " once resized" : "") +
                 ", the model takes " + text_of(target))
        .note("images:DIR,resize brings all pictures to that size; images:DIR,resize=" +
              std::to_string(std::min(target.width, target.height)) + ",crop keeps their proportions (docs/data.md)");
  }
  const int pad = options.random_crop.value_or(0);
  const int spare_x = region.scaled.width + 2 * pad - target.width, spare_y = region.scaled.height + 2 * pad - target.height;
  if (spare_x < 0 || spare_y < 0)
    return Error("it has " + text_of(region.scaled) + " pixels" + (options.resize ? " once resized" : "") +
                 ", too few to cut out the " + text_of(target) + " that the model takes")
        .note("images:DIR,resize=" + std::to_string(std::max(target.width, target.height)) +
              " before the crop makes them larger");
  if (options.random_crop) {
    const auto unit = draws.units(kCropDraw);
    region.shift_y = below(unit[0], spare_y + 1) - pad;
    region.shift_x = below(unit[1], spare_x + 1) - pad;
  } else {
    // Halves to even, as Python rounds.
    region.shift_y = static_cast<int>(std::nearbyint(spare_y / 2.0));
    region.shift_x = static_cast<int>(std::nearbyint(spare_x / 2.0));
  }
  return region;
}

}  // namespace sheaf
