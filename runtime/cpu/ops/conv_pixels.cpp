#include "runtime/cpu/ops/conv_pixels.h"

#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/cpu/ops/pixel_runs.h"
#include "runtime/cpu/ops/product_team.h"

#include <algorithm>

namespace sheaf {
namespace {

/// The matrix of a pixel, [N × channels], or of a tap, [I × O].
MatrixOperand matrix(BufferRef buffer, int64_t columns) { return {buffer, columns, 1}; }
MatrixOperand transposed(MatrixOperand operand) { return {operand.buffer, operand.column_stride, operand.row_stride}; }

/// y of x, or dx of dy: sums over runs into the pixels of a tensor, whose rows are the parts.
Prepared prepare_sums(const Operation& operation, const ConvShape& g, ConvResult result) {
  const bool forward = result == ConvResult::y;
  const DnnlDims &source = forward ? g.x : g.y, &target = forward ? g.y : g.x;
  const char* source_role = forward ? "x" : "dy";
  std::vector<PixelSum> sums;
  for (const TapRun& run : tap_runs(g)) {
    sums.push_back({forward ? run.y_pixel : run.x_pixel, forward ? run.x_pixel : run.y_pixel, run.tap, run.length});
  }
  const PixelPlan plan = plan_pixels(std::move(sums), target[2], target[3]);
  const MatrixOperand weight = matrix(operation.input_buffer("weight"), g.y[1]);
  const int64_t source_pixel = source[0] * source[1], target_pixel = target[0] * target[1], tap = g.x[1] * g.y[1];
  ProductList list;
  list.a = matrix(operation.input_buffer(source_role), source[1]);
  list.b = forward ? weight : transposed(weight);
  list.c = matrix(operation.output_buffer(), target[1]);
  list.columns = target[1];
  list.parts = target[2];
  for (const PixelSum& sum : plan.sums) {
    list.products.push_back({sum.length * source[0], source[1], sum.source * source_pixel, sum.tap * tap,
                             sum.target * target_pixel, sum.first, sum.last, sum.target / target[3]});
  }
  for (const int64_t pixel : plan.untouched) list.zeros.push_back({pixel * target_pixel, target_pixel});
  Prepared prepared = operation.prepared();
  prepared.inputs[operation.find(source_role)] = pixels_tensor(source);
  prepared.inputs[operation.find("weight")] = taps_tensor(g.weight);
  prepared.outputs[0] = pixels_tensor(target);
  prepare_products(operation, list, pixels_desc(target), "pixels", prepared);
  prepared.reason =
      "products over the batch, pixel by pixel: images are small, and what falls into the padding or between strides is "
      "left out";
  return prepared;
}

}  // namespace

Prepared prepare_conv_pixels(const Operation& operation, const ConvShape& g) {
  return prepare_sums(operation, g, ConvResult::y);
}

Prepared prepare_conv_backward_data_pixels(const Operation& operation, const ConvShape& g) {
  return prepare_sums(operation, g, ConvResult::dx);
}

Prepared prepare_conv_backward_weight_pixels(const Operation& operation, const ConvShape& g) {
  const int64_t images = g.x[0], in = g.x[1], out = g.y[1];
  std::vector<TapRun> runs = tap_runs(g);
  // Tap by tap, so that a tap's sums meet its matrix while it is in the cache.
  std::sort(runs.begin(), runs.end(), [](const TapRun& a, const TapRun& b) {
    return a.tap != b.tap ? a.tap < b.tap : a.y_pixel < b.y_pixel;
  });
  ProductList list;
  list.a = transposed(matrix(operation.input_buffer("x"), in));
  list.b = matrix(operation.input_buffer("dy"), out);
  list.c = matrix(operation.output_buffer(), out);
  list.columns = out;
  for (size_t i = 0; i < runs.size(); ++i) {
    const TapRun& run = runs[i];
    list.products.push_back({in, run.length * images, run.x_pixel * images * in, run.y_pixel * images * out,
                             run.tap * in * out, i == 0 || runs[i - 1].tap != run.tap, false});
  }
  std::vector<bool> touched(static_cast<size_t>(g.weight[2] * g.weight[3]));
  for (const TapRun& run : runs) touched[static_cast<size_t>(run.tap)] = true;
  for (size_t tap = 0; tap < touched.size(); ++tap)
    if (!touched[tap]) list.zeros.push_back({static_cast<int64_t>(tap) * in * out, in * out});
  if (!g.bias.empty()) list.column_sums = {operation.output_buffer(1), g.y[2] * g.y[3] * images};
  Prepared prepared = operation.prepared();
  prepared.inputs[operation.find("x")] = pixels_tensor(g.x);
  prepared.inputs[operation.find("dy")] = pixels_tensor(g.y);
  prepared.outputs[0] = taps_tensor(g.weight);
  prepare_products(operation, list, taps_desc(g.weight), "pixels", prepared);
  prepared.reason = "products over the batch, pixel by pixel: images are small, and what falls into the padding is left out";
  return prepared;
}

// Measured on AVX-512 against oneDNN 2.6, one thread, milliseconds for 256 images (direct convolution → pixels):
//
//   channels, pixels, stride     y             dx            dweight
//   512 → 512, 4×4               68 → 65       68 → 64       95 → 68
//   256 → 512, 7×7 / 2           41 → 30       52 → 29       48 → 33
//   256 → 512, 7×7 / 2, 1×1      15 → 4.6      20 → 5.1      8.6 → 5.4
//   256 → 256, 7×7               60 → 55       63 → 58       64 → 63
//   128 → 256, 14×14 / 2         42 → 32       42 → 29       36 → 37
//   128 → 128, 14×14             68 → 65       77 → 62       61 → 82
//   64 → 128, 28×28 / 2          54 → 34       37 → 31       33 → 46
//
// Neighbours that are both products leave out reorders of 1 to 3 ms. Winograd, with stride 1, takes half of these
// times. In inference y goes to oneDNN's brgconv, which needs a weight that stays and is as quick, or to conv_taps.h.
bool pixels_pay(const ConvShape& g, ConvResult result, bool training, bool fast) {
  constexpr int64_t least_images = 32;
  const int64_t least_channels = fast ? 64 : 128, widest = 14;
  if (dnnl::get_effective_cpu_isa() < dnnl::cpu_isa::avx512_core) return false;
  if (g.x.size() != 4 || g.groups != 1 || g.dilation != DnnlDims{1, 1} || g.x[0] < least_images) return false;
  const int64_t width = std::max(g.y[2], g.y[3]);
  if (std::min(g.x[1], g.y[1]) < least_channels || width > widest) return false;
  const bool strided = g.stride[1] > 1;
  if (fast) return strided && every_pixel_is_reached(g);
  if (g.weight[2] * g.weight[3] == 1) return strided && width <= 4 && every_pixel_is_reached(g);
  switch (result) {
    case ConvResult::y: return training && every_pixel_is_reached(g);
    case ConvResult::dx: return true;
    case ConvResult::dweight: return width <= 4 || (width <= 7 && !strided);
  }
  return false;
}

}  // namespace sheaf
