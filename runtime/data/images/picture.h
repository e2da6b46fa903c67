// A decoded picture, and the decoders of JPEG and PNG.
#pragma once

#include "runtime/base/error.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sheaf {

struct PictureSize {
  int width = 0, height = 0;
};

/// Four bytes a pixel: red, green, blue and an unused one, so that a pixel is a vector of four. Rows from top to bottom.
struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;

  static constexpr size_t kBytes = 4;
  size_t row_bytes() const { return static_cast<size_t>(width) * kBytes; }
  const uint8_t* row(int y) const { return pixels.data() + static_cast<size_t>(y) * row_bytes(); }
  uint8_t* row(int y) { return pixels.data() + static_cast<size_t>(y) * row_bytes(); }
};

/// Pictures with more pixels are refused, before memory is allocated for them. Pillow's limit.
inline constexpr int64_t kMostPixels = 178'956'970;

/// Sees a JPEG's size before it is decoded and returns by which divisor, 1, 2, 4 or 8, the decoder may shrink it.
using ChooseDivisor = std::function<int(PictureSize)>;

/// Decodes FILE's content `bytes` into `picture`, reusing its memory; returns the size stated in the file, which is larger than
/// the picture's if the decoder shrank it. Transparency is dropped, palettes are looked up, 16 bits become 8, CMYK becomes RGB.
/// Errors, without a place: neither JPEG nor PNG, damage (also one that a decoder could paint over), more than kMostPixels.
Result<PictureSize> decode_picture(std::span<const std::byte> bytes, const ChooseDivisor& divisor, Picture& picture);

// One for each format.
Result<PictureSize> decode_jpeg(std::span<const std::byte> bytes, const ChooseDivisor& divisor, Picture& picture);
Result<PictureSize> decode_png(std::span<const std::byte> bytes, Picture& picture);

/// Error: `size` is invalid for a picture, or has too many pixels.
Result<void> check_size(PictureSize size);

}  // namespace sheaf
