// The transforms of the tables of runtime/cpu/winograd/kernels.h that this CPU can run: one tile goes through all of them, and is compared
// with loops.
#if defined(__x86_64__)  // there are no tables elsewhere

#include "tests/unit/runtime/cpu/winograd_tables.h"

namespace sheaf::winograd {
namespace {

class WinogradKernels : public WinogradTables {
 protected:
  void check_y(bool gradient, const Finish& finish);

  /// Relative to the root mean square: f32 sums of transformed f32; bf16 results; operands in bf16; operands split.
  void expect_near(const Values& actual, const Values& expected, bool narrow_result) const {
    double squares = 0, largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      squares += double(expected[i]) * expected[i];
      const double difference = std::fabs(double(actual[i]) - expected[i]);
      largest = std::max(largest,
                         std::isnan(difference) ? HUGE_VAL : difference - (narrow_result ? std::fabs(expected[i]) / 256 : 0));
    }
    EXPECT_LE(largest, (kernels.pair == 2 ? 0.12 : split() ? 5e-4 : 1e-5) * std::sqrt(squares / double(expected.size())));
  }
};

/// A tile of y from 6×6 pixels of x, or of dx from dy, for three images; one and a half panels of channels.
void WinogradKernels::check_y(bool gradient, const Finish& wanted) {
  const int64_t images = 3, from = 2 * kernels.lanes, to = 3 * kernels.lanes, pair = kernels.pair, panel = kernels.panel;
  const int64_t in = gradient ? to : from, out = gradient ? from : to, depth = from / pair, matrix = 2 * panel * depth;
  const Stored x = normal(positions * images * from), w = normal(taps * in * out), before = normal(tile_pixels * images * to);
  Values bias(static_cast<size_t>(to));
  for (float& value : bias) value = float(generator() % 7) - 3;
  Finish finish = wanted;
  if (finish.bias) finish.bias = bias.data();

  const void* window[positions];
  for (int p = 0; p < positions; ++p) window[p] = x.at(p * images * from);
  Buffer v(size_t(positions * images * depth) * sizeof(float), poison), u(size_t(positions * matrix) * sizeof(float), poison);
  Buffer m(size_t(positions * images * to) * sizeof(float), poison), y(before.bytes.size(), poison);
  const auto of = [](Buffer& buffer) { return static_cast<float*>(buffer.data()); };
  kernels.transform_source(window, of(v), images * depth, images, from);
  kernels.transform_weight(w.at(0), of(u), matrix, in, out, gradient, panel, to);
  kernels.transform_weight(w.at(0), of(u), matrix, in, out, gradient, 0, panel);
  for (int64_t p = 0; p < positions; ++p)
    kernels.multiply({images, to, depth, of(v) + p * images * depth, depth, 1, of(u) + p * matrix, panel * depth, panel,
                      of(m) + p * images * to, to, false});
  std::memcpy(y.data(), before.bytes.data(), before.bytes.size());
  void* tile[tile_pixels];
  for (int p = 0; p < tile_pixels; ++p) tile[p] = static_cast<char*>(y.data()) + size_t(p * images * to + 1) * before.size;
  kernels.finish_y(of(m), images * to, tile, images, to, finish);

  Values actual, expected;
  for (int64_t p = 0; p < tile_pixels; ++p) {
    for (int64_t j = 0; j < images * to; ++j) {
      const int64_t image = j / to, channel = j % to;
      double sum = finish.bias ? bias[size_t(channel)] : 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t pixel = (p / tile_size + tap / kernel_size) * window_size + p % tile_size + tap % kernel_size;
        for (int64_t k = 0; k < from; ++k)
          sum += double(x.values[size_t((pixel * images + image) * from + k)]) *
                 w.values[size_t(gradient ? ((taps - 1 - tap) * in + channel) * out + k : (tap * in + k) * out + channel)];
      }
      if (finish.add) sum += before.values[size_t(p * images * to + j)];
      expected.push_back(float(finish.relu && sum < 0 ? sum * finish.negative_slope : sum));
      const char* at = static_cast<const char*>(tile[p]) + size_t(j) * before.size;
      actual.push_back(GetParam().bf16 ? float(*reinterpret_cast<const BFloat16*>(at)) : *reinterpret_cast<const float*>(at));
    }
  }
  expect_near(actual, expected, GetParam().bf16);
}

TEST_P(WinogradKernels, a_tile_of_y_or_dx_is_its_convolution) {
  const float any = 0;
  for (const Finish& finish :
       {Finish{}, Finish{&any, false, true, 0}, Finish{&any, true, false, 0}, Finish{nullptr, true, true, 0.25f}}) {
    SCOPED_TRACE(testing::Message() << "bias " << bool(finish.bias) << ", add " << finish.add << ", relu " << finish.relu);
    check_y(false, finish);
    check_y(true, finish);
  }
}

/// For dweight, the columns from the second register on; rows of the positions together, and in halves, with the same bits.
TEST_P(WinogradKernels, a_tile_of_dweight_is_its_correlation) {
  const int64_t images = 3, in = 3 * kernels.lanes, all = 4 * kernels.lanes, first = kernels.lanes, out = all - first;
  const int64_t depth = elements_along(kernels, images), half = positions / 2;
  const Stored x = normal(positions * images * in), dy = normal(tile_pixels * images * all);
  const void *window[positions], *tile[tile_pixels];
  for (int p = 0; p < positions; ++p) window[p] = x.at(p * images * in);
  for (int p = 0; p < tile_pixels; ++p) tile[p] = dy.at(p * images * all + first);
  Values v(size_t(positions * depth * in)), d(size_t(positions * depth * out)), v_halves = v, d_halves = d;
  kernels.transform_x(window, v.data(), depth * in, images, in, in, Rows::all);
  kernels.transform_dy(tile, d.data(), depth * out, images, out, all, Rows::all);
  for (const auto& [rows, begin] : {std::pair(Rows::first_half, int64_t{0}), std::pair(Rows::second_half, half)}) {
    kernels.transform_x(window, v_halves.data() + begin * depth * in, depth * in, images, in, in, rows);
    kernels.transform_dy(tile, d_halves.data() + begin * depth * out, depth * out, images, out, all, rows);
  }
  EXPECT_EQ(std::memcmp(v.data(), v_halves.data(), v.size() * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(d.data(), d_halves.data(), d.size() * sizeof(float)), 0);

  Values m(size_t(positions * in * out)), expected;
  for (int64_t p = 0; p < positions; ++p)
    kernels.multiply({in, out, depth, &v[size_t(p * depth * in)], 1, in, &d[size_t(p * depth * out)], kernels.panel, out,
                      &m[size_t(p * in * out)], out, false});
  Buffer buffer(size_t(taps * in * out) * sizeof(float), poison);
  auto* const dw = static_cast<float*>(buffer.data());
  kernels.finish_dweight(m.data(), 1, dw, in * out, 5 * out, in * out);
  kernels.finish_dweight(m.data(), 1, dw, in * out, 0, 5 * out);
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t j = 0; j < in * out; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < tile_pixels; ++p) {
        const int64_t pixel = (p / tile_size + tap / kernel_size) * window_size + p % tile_size + tap % kernel_size;
        for (int64_t image = 0; image < images; ++image)
          sum += double(x.values[size_t((pixel * images + image) * in + j / out)]) *
                 dy.values[size_t((p * images + image) * all + first + j % out)];
      }
      expected.push_back(float(sum));
    }
  }
  expect_near(Values(dw, dw + taps * in * out), expected, false);
}

INSTANTIATE_TEST_SUITE_P(tables, WinogradKernels, testing::ValuesIn(subjects),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sheaf::winograd

#endif
