#include "runtime/cpu/ops/conv_pixels.h"

#include "runtime/cpu/ops/pixel_runs.h"
#include "runtime/cpu/ops/product_team.h"

#include <algorithm>

namespace sheaf {
namespace {

constexpr auto kF32 = dnnl::memory::data_type::f32;

DnnlDesc taps_desc(const DnnlDims& weight) { return DnnlDesc(weight, kF32, dnnl::memory::format_tag::hwio); }

TensorSpec pixels_tensor(const DnnlDims& dims) {
  return dnnl_tensor(dims, pixels_desc(dims), plain_desc(dims), activation_letters(4));
}
TensorSpec taps_tensor(const DnnlDims& weight) {
  return dnnl_tensor(weight, taps_desc(weight), plain_desc(weight), "oihw");
}

/// The matrix of a pixel, [N × channels], or of a tap, [I × O].
MatrixOperand matrix(BufferRef buffer, int64_t columns) { return {buffer, columns, 1}; }
MatrixOperand transposed(MatrixOperand operand) { return {operand.buffer, operand.column_stride, operand.row_stride}; }

/// Sums over runs into the pixels of `target`: y of x, or dx of dy.
ProductList sums_into(const PixelPlan& plan, const ConvShape& g, int64_t source_channels, int64_t target_channels) {
  const int64_t images = g.x[0], tap = g.x[1] * g.y[1];
  ProductList list;
  list.columns = target_channels;
  for (const PixelSum& sum : plan.sums) {
    list.products.push_back({sum.length * images, source_channels, sum.source * images * source_channels, sum.tap * tap,
                             sum.target * images * target_channels, sum.first, sum.last});
  }
  for (const int64_t pixel : plan.untouched)
    list.zeros.push_back({pixel * images * target_channels, images * target_channels});
  return list;
}

}  // namespace

Prepared prepare_conv_pixels(const Operation& operation, const ConvShape& g) {
  std::vector<PixelSum> sums;
  for (const TapRun& run : tap_runs(g)) sums.push_back({run.y_pixel, run.x_pixel, run.tap, run.length});
  ProductList list = sums_into(plan_pixels(std::move(sums), g.y[2], g.y[3]), g, g.x[1], g.y[1]);
  list.a = matrix(operation.input_buffer("x"), g.x[1]);
  list.b = matrix(operation.input_buffer("weight"), g.y[1]);
  list.c = matrix(operation.output_buffer(), g.y[1]);
  Prepared prepared = operation.prepared();
  prepared.inputs[operation.find("x")] = pixels_tensor(g.x);
  prepared.inputs[operation.find("weight")] = taps_tensor(g.weight);
  prepared.outputs[0] = pixels_tensor(g.y);
  prepare_products(operation, list, pixels_desc(g.y), "pixels", prepared);
  prepared.reason = "strided 1x1: one product over the batch for each output pixel; direct convolution strides through memory";
  return prepared;
}

Prepared prepare_conv_backward_data_pixels(const Operation& operation, const ConvShape& g) {
  std::vector<PixelSum> sums;
  for (const TapRun& run : tap_runs(g)) sums.push_back({run.x_pixel, run.y_pixel, run.tap, run.length});
  ProductList list = sums_into(plan_pixels(std::move(sums), g.x[2], g.x[3]), g, g.y[1], g.x[1]);
  list.a = matrix(operation.input_buffer("dy"), g.y[1]);
  list.b = transposed(matrix(operation.input_buffer("weight"), g.y[1]));
  list.c = matrix(operation.output_buffer(), g.x[1]);
  Prepared prepared = operation.prepared();
  prepared.inputs[operation.find("dy")] = pixels_tensor(g.y);
  prepared.inputs[operation.find("weight")] = taps_tensor(g.weight);
  prepared.outputs[0] = pixels_tensor(g.x);
  prepare_products(operation, list, pixels_desc(g.x), "pixels", prepared);
  prepared.reason = "small strided images: products over the batch, which skip the padding and the pixels between strides";
  return prepared;
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
  Prepared prepared = operation.prepared();
  prepared.inputs[operation.find("x")] = pixels_tensor(g.x);
  prepared.inputs[operation.find("dy")] = pixels_tensor(g.y);
  prepared.outputs[0] = taps_tensor(g.weight);
  prepare_products(operation, list, taps_desc(g.weight), "pixels", prepared);
  prepared.reason = "small images: products over the batch, which skip the padding";
  return prepared;
}

bool pixels_pay(const ConvShape& g, ConvResult result, int threads, bool fast) {
  // Measured on AVX-512 against oneDNN 2.6, batches of 64 to 256. At rows of 4 pixels: gradients by the weight take
  // 0.5 to 0.65 of the time of its direct convolution, strided gradients by x 0.5 to 0.7, strided 1x1 kernels 0.1 to
  // 0.5 in all three passes. With stride 1 Winograd is quicker, and so is direct convolution at longer rows. Forward,
  // whole kernel rows at once are as quick and take any x in nhwc (conv_taps.h).
  constexpr int64_t images_per_thread = 8, least_channels = 128, widest_row = 4;
  if (dnnl::get_effective_cpu_isa() < dnnl::cpu_isa::avx512_core) return false;
  if (g.x.size() != 4 || g.groups != 1 || g.dilation != DnnlDims{1, 1} || g.y[3] > widest_row) return false;
  if (std::min(g.x[1], g.y[1]) < least_channels || g.x[0] < images_per_thread * threads) return false;
  const bool strided = g.stride[1] > 1, pointwise = g.weight[2] * g.weight[3] == 1;
  switch (result) {
    case ConvResult::y: return strided && pointwise && every_pixel_is_reached(g);
    case ConvResult::dx: return strided;
    case ConvResult::dweight: return strided || !fast;
  }
  return false;
}

DnnlDesc pixels_desc(const DnnlDims& dims) {
  const int64_t pixel = dims[0] * dims[1];
  return DnnlDesc(dims, kF32, DnnlDims{dims[1], 1, dims[3] * pixel, pixel});
}

}  // namespace sheaf
