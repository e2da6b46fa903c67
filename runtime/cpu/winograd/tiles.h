// How an image is cut into tiles, and the tiles of all images into blocks that fit into the cache.
#pragma once

#include "runtime/steps/step_operands.h"
#include "runtime/cpu/winograd/kernels.h"

#include <algorithm>

namespace sheaf::winograd {

/// Tiles `first_tile` to `first_tile + tiles - 1`, by rows of the image, of some neighbouring images. A block's tile of one
/// image is a row of the matrices at each position: tile by tile, image by image.
struct Block {
  int64_t first_tile, tiles, first_image, images;
  int64_t rows() const { return tiles * images; }
};

/// Tiles that cover `size` pixels along an axis.
inline int64_t tiles_of(int64_t size) { return (size + tile_size - 1) / tile_size; }

/// All tiles of `images` images of `height` × `width` pixels of y, in blocks of some `rows` rows. `channels`: the fewer
/// there are, the more images a block has, so that runs of a pixel are worth fetching. `unit`: a block has a multiple of so many
/// images, or all.
class Tiling {
 public:
  Tiling(int64_t images, int64_t height, int64_t width, int64_t channels, int64_t rows, int64_t unit = 1)
      : images_(images), columns_(tiles_of(width)), tiles_(tiles_of(height) * columns_) {
    constexpr int64_t least_run = 256;
    const int64_t wanted = std::max({int64_t{1}, least_run / channels, cut(rows, tiles_)});
    block_images_ = std::min(images, cut(wanted, unit) * unit);
    block_tiles_ = std::clamp<int64_t>(rows / block_images_, 1, tiles_);
    if (block_tiles_ > columns_) block_tiles_ -= block_tiles_ % columns_;
  }
  int64_t blocks() const { return cut(images_, block_images_) * cut(tiles_, block_tiles_); }
  int64_t most_rows() const { return block_images_ * block_tiles_; }
  Block block(int64_t index) const {
    const int64_t along = cut(tiles_, block_tiles_), tile = index % along * block_tiles_, image = index / along * block_images_;
    return {tile, std::min(block_tiles_, tiles_ - tile), image, std::min(block_images_, images_ - image)};
  }
  /// The upper left pixel of a tile.
  int64_t row_of(int64_t tile) const { return tile / columns_ * tile_size; }
  int64_t column_of(int64_t tile) const { return tile % columns_ * tile_size; }

 private:
  static int64_t cut(int64_t count, int64_t by) { return (count + by - 1) / by; }
  int64_t images_, columns_, tiles_, block_images_, block_tiles_;
};

/// Images [N, C, H, W] of elements of `element` bytes: pixel by pixel (hwnc) or, if `channels_last`, nhwc.
struct PixelMap {
  int64_t images, channels, height, width;
  size_t element;
  bool channels_last;
  PixelMap(const Dims& dims, size_t element_bytes, bool channels_last = false)
      : images(dims[0]),
        channels(dims[1]),
        height(dims[2]),
        width(dims[3]),
        element(element_bytes),
        channels_last(channels_last) {}

  /// Where `image` begins in each of the `size` × `size` pixels from (h, w) on; `outside` for those outside of the image.
  void locate(char* base, int64_t h, int64_t w, int64_t size, int64_t image, void* outside, void** pixels) const {
    for (int64_t row = h; row < h + size; ++row) {
      for (int64_t column = w; column < w + size; ++column) {
        const bool inside = row >= 0 && row < height && column >= 0 && column < width;
        const int64_t pixel = row * width + column;
        const int64_t run = channels_last ? image * height * width + pixel : pixel * images + image;
        *pixels++ = inside ? base + size_t(run * channels) * element : outside;
      }
    }
  }
  /// Images, a multiple of `unit`, whose run in one pixel is short enough to replace pixels outside, and, if a unit's is, for tiles' pixels
  /// to stay in the first cache; one if the next image's is elsewhere.
  int64_t strip(int64_t unit) const { return channels_last ? 1 : std::max<int64_t>(1, 1024 / channels / unit) * unit; }
};

/// Calls body(tile, image, images) for `strip` images of a tile at a time, all counted from the block's first.
template <typename Body>
void for_strips(const Block& block, int64_t strip, Body body) {
  for (int64_t tile = 0; tile < block.tiles; ++tile)
    for (int64_t image = 0; image < block.images; image += strip) body(tile, image, std::min(strip, block.images - image));
}

constexpr int64_t most_channels = 4096;
/// What is outside of y, bytes: as long as a strip's run, which is an image's at the most.
constexpr size_t outside_bytes = most_channels * sizeof(float);
/// Zeros: as many as a strip's run has in x or dy, which is a unit of images' at the most.
void* outside_of_x();
constexpr int64_t largest_unit = 32;

}  // namespace sheaf::winograd
