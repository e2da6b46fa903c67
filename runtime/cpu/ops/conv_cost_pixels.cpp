// The measurements behind the shares: conv_cost.cpp.
#include "runtime/cpu/ops/conv_cost_pixels.h"

#include "runtime/machine/isa.h"
#include "runtime/cpu/ops/conv_winograd.h"
#include "runtime/cpu/winograd/tiles.h"

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

constexpr double kPackSeconds = .4e-9;  ///< to bring an activation into the pairs that AMX multiplies along images

// Of f32 values split into two parts of bf16, by AMX. The shares were reasoned out before any was measured, and held
// (docs/cpu-choices.md): a Xeon's core makes .9 to 1.05 TFLOP/s of bf16 in tiles and 115 GFLOP/s of f32, and three products of parts are
// one of values; the passes around the products, which are the same code on any CPU with AVX-512 BF16, were measured on Zen 4 against
// those of f32.
constexpr double kSplitRate = 2.3;        ///< times f32's
constexpr double kTurnedRate = 1.8;       ///< the same where a is turned for the tiles
constexpr double kSplitPasses = 1.15;     ///< Winograd's transforms, times f32's
constexpr double kSplitSeconds = .12e-9;  ///< to split an activation in the core's cache

/// Gradients by weight of few images are short along their depth.
double images_share(const Work& work) {
  const double images = std::min(1.0, double(work.images) / many_images);
  return images * images;
}

/// For y or dx, each tap's matrix comes from the caches again for every pixel, and few images have few products of it. The shares are of
/// `many_images` and more.
double weight_seconds(const Work& work) {
  const double seldom = 1.0 / double(work.images) - 1.0 / many_images;
  return std::max(0.0, seldom) * work.met / 2 * (work.bf16 ? 2 : 4) / kCacheRate;
}

/// Of y or dx by AMX.
double tiles_share(const Work& work) {
  const double c = double(work.channels);
  return .95 * c / (c + 4) * (work.pointwise ? .5 : 1);
}

/// Sums of a pixel come into its place after all its terms, which are few for a 1×1 kernel.
double sums_seconds(const Work& work, ConvResult result) {
  return 2 * 4 * (result == ConvResult::dx ? work.elements_x : work.elements_y) / kCacheRate;
}

/// Products over the batch by AMX.
double pixel_tiles_alone(const Work& work, ConvResult result) {
  if (result == ConvResult::dweight)
    return (work.met / (.7 * kMatrixRate) + kPackSeconds * (work.elements_x + work.elements_y)) / work.threads;
  return (work.met / (tiles_share(work) * kMatrixRate) + weight_seconds(work) + sums_seconds(work, result)) / work.threads;
}

double pixels_whole_alone(const Work& work, ConvResult result) {
  constexpr int64_t least_tiles = 32;  // values along the depth of a product
  if (work.bf16 && has_amx() && (result == ConvResult::dweight ? work.images : work.channels) >= least_tiles)
    return pixel_tiles_alone(work, result);
  const double c = double(work.channels);
  double share = 0;
  // Activations that stay in the core's cache are there for all taps, and few channels then cost little.
  const bool stays = (work.bf16 ? 2 : 4) * (work.elements_x + work.elements_y) <= kCoreCache;
  if (result == ConvResult::dweight && stays && !work.bf16) share = .8 * c / (c + 2);
  else if (result == ConvResult::dweight) share = work.bf16 ? .95 * grows(work.channels, 88) : .87 * grows(work.channels, 78);
  else share = work.bf16 ? .95 * grows(work.channels, 58) : .95 * c / (c + 12);
  if (!has_avx512()) share *= .6;
  if (work.pointwise) share *= .7;
  const bool gradient = result == ConvResult::dweight;
  if (gradient) share *= images_share(work);
  return (work.met / share / vector_rate(work.bf16) + (gradient ? 0 : weight_seconds(work)) + sums_seconds(work, result)) /
         work.threads;
}

/// The same for split values. A pixel's activations are split once for all of a kernel's row of taps that see it.
double pixels_split_alone(const Work& work, const ConvShape& g, ConvResult result) {
  if (result == ConvResult::dweight) {
    constexpr double kUnit = 32;  // images, of which there are zeros where they are fewer
    const double units = std::ceil(double(work.images) / kUnit) * kUnit / double(work.images);
    return (units * work.met / (.7 * kSplitRate * vector_rate(false)) +
            2 * kPackSeconds * (work.elements_x + work.elements_y)) /
           work.threads;
  }
  const double read = work.met / 2 / double(result == ConvResult::dx ? g.x[1] : g.y[1]);  // activations, by all taps
  const double splits = read * std::min(1.0, double(g.stride[1]) / double(g.weight[3]));
  return (work.met / (tiles_share(work) * kSplitRate * vector_rate(false)) + weight_seconds(work) + kSplitSeconds * splits +
          sums_seconds(work, result)) /
         work.threads;
}

}  // namespace

double pixels_alone(const Work& work, const ConvShape& g, ConvResult result, Operands operands) {
  return operands == Operands::split ? pixels_split_alone(work, g, result) : pixels_whole_alone(work, result);
}

double winograd_alone(const Work& work, const ConvShape& g, ConvResult result, Operands operands) {
  using namespace winograd;
  // y is made of operands in f32, that of a transposed convolution too.
  const bool narrow = work.bf16 && result != ConvResult::y && !work.transposed;
  const double c = double(work.channels);
  double share = 0;
  if (work.bf16) share = narrow ? .62 * c / (c + 36) : .64 * grows(work.channels, 26);
  else share = result == ConvResult::dweight ? .7 * c / (c + 20) : .85 * c / (c + 26);
  const DnnlDims& made = result == ConvResult::dx ? g.x : g.y;
  const double rows = double(made[0]) * double(tiles_of(made[2])) * double(tiles_of(made[3]));
  const double weights = double(positions) * double(g.x[1]) * double(g.y[1]);
  // Each run transforms the weight, or its gradient: written, then read.
  constexpr double kLastCache = 16e6;
  const double bytes = weights * (narrow && result == ConvResult::dx ? 2 : 4);
  const double transform = 2 * bytes / (bytes > kLastCache ? kMemoryRate : kCacheRate);
  // As if all that keeps f32 from its peak were passes.
  const double rate = result == ConvResult::dweight ? kTurnedRate : kSplitRate;
  if (operands == Operands::split) share = 1 / (1 / rate + kSplitPasses * (1 / share - 1));
  const double seconds = (2 * rows * weights / share / vector_rate(narrow) + transform) / work.threads;
  return work.bf16 && has_amx() ? 4 * seconds : seconds;
}

double least_by_pixels(const Operation& operation, const Work& work, const ConvShape& g, ConvResult result) {
  const bool split = split_fits(operation, g), winograd = winograd_fits(operation, g);
  double least = pixels_alone(work, g, result, Operands::whole);
  if (winograd) least = std::min(least, winograd_alone(work, g, result, Operands::whole));
  if (split) least = std::min(least, pixels_alone(work, g, result, Operands::split));
  if (split && winograd) least = std::min(least, winograd_alone(work, g, result, Operands::split));
  return least;
}

}  // namespace sheaf
