// Each implementation makes so many multiplications, at some share of what the CPU's instructions could do. The shares are what was
// measured on AVX-512 (Zen 5, oneDNN 2.6, 256 images, two threads): milliseconds by oneDNN's direct convolution → by products over
// the batch → by Winograd,
//
//   channels, pixels, stride     y                 dx                dweight
//   f32
//   512 → 512, 4×4               34 → 27 → 13      34 → 27 → 13      47 → 30 → 14
//   256 → 512, 7×7 / 2           20 → 14           26 → 14           24 → 16
//   256 → 256, 7×7               30 → 25 → 12      31 → 25 → 12      32 → 27 → 14
//   128 → 256, 14×14 / 2         21 → 15           21 → 14           18 → 18
//   128 → 128, 14×14             29 → 28 → 13      38 → 28 → 13      30 → 38 → 16
//   64 → 64, 28×28               30 → 33 → 12      30 → 34 → 12      31 → 68 → 13
//   bf16
//   512 → 512, 4×4               15 → 14 → 15      20 → 14 → 9       31 → 14 → 10
//   256 → 512, 7×7 / 2           9.4 → 7.2         14 → 7.4          20 → 9
//   256 → 256, 7×7               17 → 13 → 14      18 → 13 → 7.5     20 → 14 → 9
//   128 → 128, 14×14             14 → 17 → 14      16 → 17 → 9       17 → 20 → 12
//   64 → 64, 28×28               14.5 → – → 12.5   15 → – → 9        18 → – → 11
//
// before products fetched ahead. (On Zen 4, where arithmetic is half as quick and memory isn't, they reach .95 of the peak with 64
// channels and more.) With AMX (Xeon, two threads), of bf16; strided as "dx" and dweight need them:
//
//   512 → 512, 4×4               26 → 7.4          33 → 7.6          70 → 10
//   256 → 512, 7×7 / 2           10 → 3.9          22 → 3.8          53 → 6.3
//   256 → 256, 7×7               6.3 → 6.4         9.6 → 6.3         22 → 9.5
//   128 → 256, 14×14 / 2         5.5 → 3.5         10 → 3.9          24 → 7.8
//   128 → 128, 14×14             5.4 → 6.6         7.1 → 7.0         16 → 12
//   64 → 128, 28×28 / 2          4.2 → 4.1         10 → 4.5          17 → 12
//   64 → 64, 28×28               6.1 → 8.2         6.9 → 8.5         12 → 15
//
// Inference of 8 images, f32, two threads of a Xeon with AMX beside neighbours: by oneDNN channels last, in blocks → by products over the batch
//
//   512 → 512, 4×4               3.8, 2.7 → 2.9
//   256 → 512, 7×7 / 2           1.8, 1.3 → 1.5
//   256 → 256, 7×7               2.1, 1.9 → 2.2
//   128 → 256, 14×14 / 2         1.1, 1.1 → 1.1
//   128 → 128, 14×14             2.0, 1.9 → 2.0
//   64 → 128, 28×28 / 2          1.1, 1.2 → 1.1
//   64 → 64, 28×28               1.9, 2.4 → 2.2
//
// Transposed convolutions, 4×4 with a stride of 2, 16 images, there, f32 and bf16: by oneDNN's deconvolution → by products over the batch
//
//   512 → 256, 4×4               7.0 → 3.8         12 → 1.2
//   256 → 128, 8×8               6.7 → 5.5         5.3 → .86
//   128 → 64, 16×16              9.3 → 5.9         4.9 → 1.3
//
// Gradients by weight of depthwise convolutions, f32, four images, one thread of a Xeon with AVX-512: by oneDNN → channels last
//
//   96 channels, 56×56, 7×7      54 → 2.2
//   768, 7×7, 7×7                8 → .38
//   192, 28×28, 3×3              .16 → .43
#include "runtime/cpu/ops/conv_cost.h"

#include "runtime/machine/isa.h"
#include "runtime/cpu/ops/conv_cost_pixels.h"
#include "runtime/cpu/ops/conv_winograd.h"
#include "runtime/cpu/ops/pixel_layout.h"

namespace sheaf {
namespace {

double element_bytes(const Operation& operation) { return operation.dtype() == DType::bfloat16 ? 2 : 4; }

bool lies_by_pixels(const Operation& operation, ConvResult result) {
  const TensorSpec& source = operation.operand(source_role(operation, result));
  const DnnlDesc plain = plain_desc(source.dims, operation.data_type()),
                 pixels = pixels_desc(source.dims, operation.data_type());
  return same_layout(desc_at_hand(source, plain), pixels) && !same_layout(pixels, plain);
}

/// Reads and writes so many activations.
double reorder_seconds(const Operation& operation, const Work& work, double elements) {
  return 2 * element_bytes(operation) * elements / kMemoryRate / work.threads;
}

/// For a candidate that wants activations pixel by pixel: what it reads, if that is laid out otherwise; its neighbours may
/// follow.
double enter_pixels_seconds(const Operation& operation, const Work& work, ConvResult result) {
  if (lies_by_pixels(operation, result)) return 0;
  const double read = result == ConvResult::y    ? work.elements_x
                      : result == ConvResult::dx ? work.elements_y
                                                 : work.elements_x + work.elements_y;
  return reorder_seconds(operation, work, read);
}

/// For one that wants another layout, among neighbours that are pixel by pixel: its result, too, is reordered for the next.
double leave_pixels_seconds(const Operation& operation, const Work& work, ConvResult result) {
  return lies_by_pixels(operation, result) ? reorder_seconds(operation, work, work.elements_x + work.elements_y) : 0;
}

/// Gradients by weight that oneDNN computes channel by channel, as a product of matrices each; its own code is for kernels three wide.
constexpr double kChannelShare = .008, kThreeShare = .25;

/// Of f32, y on a Xeon with AMX, whose brgconv suffers more from short rows. (f32 needs no tile: AMX merely identifies the CPU that these
/// were measured on; for Xeons without it the shares of other CPUs stand.) With one image either layout takes as long as it takes to fetch
/// the weight, so neither gains by them.
double xeon_share(const Work& work, bool brgconv) {
  const bool rows = brgconv || work.images == 1;
  if (rows && work.strided) return work.width <= 4 ? .35 : work.width <= 7 ? .75 : .8;
  if (rows) return work.width <= 4 ? .45 : work.width <= 7 ? .72 : work.width <= 14 ? .89 : .92;
  if (work.strided) return work.width <= 4 ? .73 : work.width <= 7 ? .85 : .79;
  return work.width <= 4 ? .91 : work.width <= 7 ? 1 : work.width <= 14 ? .96 : .76;
}

/// Of f32, channels last and in blocks: a share of what counts, `met` for brgconv, which leaves padding out, else `dense`.
double direct_share(const Work& work, ConvResult result, bool brgconv) {
  if (work.depthwise && result == ConvResult::dweight) return work.three ? kThreeShare : kChannelShare;
  if (work.bf16 && has_amx()) {
    if (work.pointwise && work.strided) return result == ConvResult::y ? .3 : result == ConvResult::dx ? .16 : .045;
    switch (result) {
      case ConvResult::y:
        if (work.width <= 4) return work.strided ? .44 : .34;
        return work.strided ? (work.width <= 7 ? .61 : .8) : 1.1;
      case ConvResult::dx:
        if (work.strided) return work.width <= 4 ? .2 : .33;
        return work.width <= 4 ? .26 : work.width <= 7 ? .7 : .95;
      case ConvResult::dweight:
        if (work.strided) return work.width <= 4 ? .083 : work.width <= 7 ? .14 : .2;
        return work.width <= 4 ? .125 : work.width <= 7 ? .31 : work.width <= 14 ? .42 : .58;
    }
  }
  const bool short_rows = work.width <= 4;
  if (work.bf16) {
    if (work.pointwise && work.strided) return .25;
    switch (result) {
      case ConvResult::y: return work.strided ? .6 : work.width <= 7 && !short_rows ? .68 : .84;
      case ConvResult::dx: return work.strided ? .46 : work.width <= 7 ? .64 : work.width <= 14 ? .8 : .9;
      case ConvResult::dweight: return work.strided ? .32 : short_rows ? .42 : work.width <= 7 ? .58 : .75;
    }
  }
  if (work.pointwise) return work.strided && short_rows ? .6 : .9;
  switch (result) {
    case ConvResult::y:
      if (has_amx()) return xeon_share(work, brgconv);
      // With a stride, brgconv's products are short along the depth, too, where channels are few.
      if (brgconv && work.strided && work.channels < 64) return 1.3 * double(work.channels) / double(work.channels + 40);
      if (brgconv) return work.strided || short_rows ? .8 : .92;
      return work.strided ? .55 : .92;
    case ConvResult::dx: return work.strided ? .7 : work.width > 7 && work.width <= 14 ? .75 : .9;
    case ConvResult::dweight: return work.strided ? .76 : short_rows ? .77 : .88;
  }
  return 1;
}

double direct_alone(const Work& work, ConvResult result, Layout layout) {
  const bool amx = work.bf16 && has_amx(), forward = result == ConvResult::y;
  // What oneDNN prefers: channels last for y in f32 and with AMX, else blocks.
  const bool brgconv = !work.bf16 && forward && has_avx512() && layout != Layout::blocks && work.channels >= 16;
  const double seconds = ((work.bf16 && !amx) || brgconv ? work.met : work.dense) / direct_share(work, result, brgconv) /
                         (amx ? kMatrixRate : vector_rate(work.bf16)) / work.threads;
  constexpr double kOther = 1.1, kTrained = 1.3;  // a layout that isn't the preferred one; one that gradients must reorder
  if (amx) return layout == Layout::any ? seconds : kOther * seconds;
  if (work.bf16) return layout == Layout::blocks ? seconds : kOther * seconds;
  constexpr double kSecond = 1.02;
  if (brgconv && work.strided && !work.pointwise) return layout == Layout::last ? seconds : kSecond * seconds;
  if (forward && !work.fixed && layout != Layout::blocks) return kTrained * seconds;
  const bool measured = forward && has_amx();  // xeon_share() tells both layouts apart
  if (layout == Layout::blocks && (work.fixed || !forward) && !measured) return kOther * seconds;
  return layout == Layout::last ? kSecond * seconds : seconds;
}

/// In training a layer's y and dx want one layout, so they are chosen by the sum of both: the time of the other, pixel by pixel or not.
double other_pass(const Operation& operation, const ConvShape& g, const Work& work, ConvResult result, bool pixels) {
  if (work.fixed || result == ConvResult::dweight || !pixels_fit(operation, g)) return 0;
  const bool forward = result == ConvResult::y;
  const ConvResult other = forward ? ConvResult::dx : ConvResult::y;
  if (pixels) return least_by_pixels(operation, work, g, other);
  const Layout preferred = forward ? Layout::any : Layout::blocks;
  const bool strides = !forward && work.strided && !work.pointwise && !work.bf16;
  return direct_alone(work, other,
                      work.bf16 && has_amx() ? Layout::any
                      : work.bf16            ? Layout::blocks
                      : strides              ? Layout::last
                                             : preferred);
}

/// By oneDNN, which takes `alone` for the operation itself: with the other pass and what its layout costs among neighbours.
double library_seconds(const Operation& operation, const ConvShape& g, const Work& work, ConvResult result, double alone) {
  if (g.x.size() != 4) return alone;
  return alone + other_pass(operation, g, work, result, false) + leave_pixels_seconds(operation, work, result);
}

/// By a large product of matrices.
double product_alone(const Work& work) {
  return work.dense / .92 / (work.bf16 && has_amx() ? kMatrixRate : vector_rate(work.bf16)) / work.threads;
}

}  // namespace

double direct_seconds(const Operation& operation, const ConvShape& g, ConvResult result, Layout layout) {
  const Work work(operation, g);
  return library_seconds(operation, g, work, result, direct_alone(work, result, layout));
}

double pixel_product_seconds(const Operation& operation, const ConvShape& mirror) {
  const Work work(operation, mirror);
  return library_seconds(operation, mirror, work, ConvResult::dx, product_alone(work));
}

double transpose_seconds(const Operation& operation, const ConvShape& mirror) {
  constexpr double kShare = .5, kMatrixShare = .08;
  const Work work(operation, mirror);
  const bool amx = work.bf16 && has_amx();
  const double alone = work.dense / (amx ? kMatrixShare * kMatrixRate : kShare * vector_rate(work.bf16)) / work.threads;
  return library_seconds(operation, mirror, work, ConvResult::dx, alone);
}

double depthwise_seconds(const Operation& operation, const ConvShape& g, ConvResult) {
  const Work work(operation, g);
  constexpr double kGatherSeconds = .35e-9;  // to bring an activation beside its neighbours in the same channels
  return (work.met / .3 / vector_rate(false) + kGatherSeconds * (work.elements_x + work.elements_y)) / work.threads;
}

double pointwise_seconds(const Operation& operation, const ConvShape& g, ConvResult result) {
  const Work work(operation, g);
  return product_alone(work) + other_pass(operation, g, work, result, false) + enter_pixels_seconds(operation, work, result);
}

double pixels_seconds(const Operation& operation, const ConvShape& g, ConvResult result, Operands operands) {
  const Work work(operation, g);
  return pixels_alone(work, g, result, operands) + other_pass(operation, g, work, result, true) +
         enter_pixels_seconds(operation, work, result);
}

double winograd_seconds(const Operation& operation, const ConvShape& g, ConvResult result, Operands operands) {
  const Work work(operation, g);
  // With channels last, bf16's neighbours are oneDNN's convolutions in blocks.
  const double layout = winograd_channels_last(operation, g)
                            ? (work.bf16 ? 2 * reorder_seconds(operation, work, work.elements_x + work.elements_y) : 0)
                            : enter_pixels_seconds(operation, work, result);
  return winograd_alone(work, g, result, operands) + other_pass(operation, g, work, result, true) + layout;
}

}  // namespace sheaf
