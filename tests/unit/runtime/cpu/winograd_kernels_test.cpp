// The tables of runtime/cpu/winograd/kernels.h that this CPU can run, compared with loops: products of small matrices, and one
// tile that goes through all transforms.
#include "runtime/machine/isa.h"
#include "runtime/cpu/ops/elements.h"
#include "runtime/cpu/ops/pixel_operation.h"
#include "runtime/cpu/winograd/kernels.h"
#include "tests/unit/runtime/cpu/guarded_buffer.h"

#include <gtest/gtest.h>

#if defined(__x86_64__)  // there are no tables elsewhere

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>

namespace sheaf::test {
void tile_fault(const char* what) { ADD_FAILURE() << what; }
}  // namespace sheaf::test

namespace sheaf::winograd {
namespace emulated {
extern const KernelTable narrow, split;  ///< v4_amx's, with tiles in plain C++ (emulated_kernels.cpp)
}
namespace {

using test::Buffer, test::poison;
using Values = std::vector<float>;

/// What a table needs besides its level.
enum class Needs { nothing, bf16, tiles };

struct Subject {
  const char* name;
  const char* level;
  const KernelTable* table;
  bool bf16;  ///< activations and weights
  Needs needs = Needs::nothing;
};
void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

std::mt19937 generator(1);

float high_of(float value) { return float(BFloat16(value)); }

class WinogradKernels : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    const auto levels = supported_isa_levels();
    const Needs needs = GetParam().needs;
    if (std::find(levels.begin(), levels.end(), GetParam().level) == levels.end() || (needs == Needs::bf16 && !has_bf16()) ||
        (needs == Needs::tiles && !has_amx()))
      GTEST_SKIP() << "this CPU has other instructions";
  }

  /// `count` values, at an address that is a multiple only of a value's size.
  struct Stored {
    std::vector<char> bytes;
    Values values;
    size_t size;
    const void* at(int64_t index) const { return bytes.data() + size_t(index + 1) * size; }
  };
  Stored normal(int64_t count) const {
    std::normal_distribution<float> distribution;
    Values values(static_cast<size_t>(count));
    for (float& value : values) value = distribution(generator);
    return stored(values);
  }
  Stored stored(const Values& values) const {
    Stored stored{{}, values, GetParam().bf16 ? sizeof(BFloat16) : sizeof(float)};
    stored.bytes.resize((values.size() + 1) * stored.size);
    for (size_t i = 0; i < stored.values.size(); ++i) {
      float value = stored.values[i];
      const BFloat16 narrow(value);
      if (GetParam().bf16) value = float(narrow);
      std::memcpy(stored.bytes.data() + (i + 1) * stored.size, GetParam().bf16 ? static_cast<const void*>(&narrow) : &value,
                  stored.size);
      stored.values[i] = value;
    }
    return stored;
  }

  bool split() const { return kernels.depth_unit > kernels.pair; }

  /// Whole numbers, whose products and sums are exact. Many of split ones have a low part.
  Values whole(int64_t count) const {
    Values values(static_cast<size_t>(count));
    for (float& value : values) {
      value = float(int(generator() % 9) - 4);
      if (split() && generator() % 2) value += generator() % 2 ? 260 : -260;
    }
    return values;
  }
  /// What a product of two of them is.
  float product_of(float a, float b) const { return split() ? a * b - (a - high_of(a)) * (b - high_of(b)) : a * b; }

  /// Stores an operand's value number `k` along the depth, whose elements are `stride` apart.
  void put(float* first, int64_t stride, int64_t k, float value) const {
    if (kernels.pair == 1 && !split()) {
      first[k * stride] = value;
      return;
    }
    const auto narrow = [&](int64_t element, float part) {
      const BFloat16 bits(part);
      std::memcpy(reinterpret_cast<char*>(first + element * stride) + k % 2 * 2, &bits, sizeof(bits));
    };
    const int64_t pair = k / 2, unit = kernels.depth_unit;
    if (!split()) return narrow(pair, value);
    narrow(pair / (unit / 2) * unit + pair % (unit / 2), value);
    narrow(pair / (unit / 2) * unit + pair % (unit / 2) + unit / 2, value - high_of(value));
  }

  void check_product(int64_t rows, int64_t columns, int64_t values, bool accumulate, bool transposed);
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

  const KernelTable& kernels = *GetParam().table;
};

void WinogradKernels::check_product(int64_t rows, int64_t columns, int64_t values, bool accumulate, bool transposed) {
  constexpr int64_t gap = 3;
  const int64_t depth = values / kernels.pair, panel = kernels.panel, a_row = transposed ? 1 : depth + gap,
                a_depth = transposed ? rows + gap : 1;
  const int64_t b_depth = panel + gap, b_panel = depth * b_depth + gap, c_row = columns + gap;
  const Values a = whole(rows * values), b = whole(values * columns), c = whole(rows * columns);
  // Exactly as long as they need to be; the space between is NaN.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const int64_t last = (columns - 1) / panel;
  Values a_at(size_t((rows - 1) * a_row + (depth - 1) * a_depth + 1), nan);
  Values b_at(size_t(1 + last * b_panel + (depth - 1) * b_depth + columns - last * panel), nan);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < values; ++k) put(&a_at[size_t(i * a_row)], a_depth, k, a[size_t(i * values + k)]);
  for (int64_t k = 0; k < values; ++k)
    for (int64_t j = 0; j < columns; ++j)
      put(&b_at[size_t(1 + j / panel * b_panel + j % panel)], b_depth, k, b[size_t(k * columns + j)]);
  Buffer buffer(size_t(1 + (rows - 1) * c_row + columns) * sizeof(float), poison);
  float* const c_at = static_cast<float*>(buffer.data()) + 1;
  for (int64_t i = 0; accumulate && i < rows; ++i) std::copy_n(&c[size_t(i * columns)], columns, c_at + i * c_row);

  kernels.multiply(
      {rows, columns, depth, a_at.data(), a_row, a_depth, b_at.data() + 1, b_panel, b_depth, c_at, c_row, accumulate});
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float sum = accumulate ? c[size_t(i * columns + j)] : 0;
      for (int64_t k = 0; k < values; ++k) sum += product_of(a[size_t(i * values + k)], b[size_t(k * columns + j)]);
      ASSERT_EQ(c_at[i * c_row + j], sum) << i << ", " << j;
    }
    for (int64_t j = columns; i + 1 < rows && j < c_row; ++j)
      ASSERT_TRUE(std::isnan(c_at[i * c_row + j])) << "written between rows";
  }
  EXPECT_TRUE(std::isnan(c_at[-1])) << "written before c";
}

TEST_P(WinogradKernels, products_of_any_height_are_exact_and_keep_to_their_memory) {
  std::vector<int64_t> heights = {33, 47, 64};
  for (int64_t rows = 1; rows <= 30; ++rows) heights.push_back(rows);
  for (const int64_t rows : heights)
    for (const int64_t registers : {1, 2, 3, 6})
      for (const int64_t units : {1, 2, 9, 16, 41})
        for (const bool accumulate : {false, true})
          for (const bool transposed : {false, true}) {
            if (split() && units > (registers == 2 ? 9 : 2)) continue;  // long enough
            SCOPED_TRACE(testing::Message() << rows << " rows, " << registers << " registers, depth " << units);
            check_product(rows, registers * kernels.lanes, units * kernels.depth_unit, accumulate, transposed);
          }
}

/// As convolutions by products over the batch use them: a packed along its rows or along its depth, terms that are added up.
TEST_P(WinogradKernels, sums_of_products_are_exact) {
  for (const int64_t images : {1, 30, 32, 33, 75})
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(testing::Message() << images << " images");
      const int64_t rows = 3 * kernels.lanes, columns = 2 * kernels.lanes, count = 3;
      const int64_t depth = elements_along(kernels, images), stride = depth + 5;
      Values expected = whole(rows * columns), a(size_t(count * rows * stride)), b(size_t(count * depth * columns));
      Buffer buffer(expected.size() * sizeof(float), poison);
      auto* const c = static_cast<float*>(buffer.data());
      if (accumulate) std::ranges::copy(expected, c);
      else std::ranges::fill(expected, 0.f);
      std::vector<ProductTerm> terms;
      for (int64_t t = 0; t < count; ++t) {
        const Stored x = stored(whole(images * rows)), dy = stored(whole(images * columns));
        float *const a_at = &a[size_t(t * rows * stride)], *const b_at = &b[size_t(t * depth * columns)];
        if (kernels.pack_rows) kernels.pack_rows(x.at(0), a_at, stride, images, rows);
        else kernels.pack_images(x.at(0), a_at, images, rows);
        kernels.pack_images(dy.at(0), b_at, images, columns);
        terms.push_back({a_at, b_at});
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j)
            for (int64_t n = 0; n < images; ++n)
              expected[size_t(i * columns + j)] +=
                  product_of(x.values[size_t(n * rows + i)], dy.values[size_t(n * columns + j)]);
      }
      const bool by_rows = kernels.pack_rows;
      Product product{rows,    columns, depth,   nullptr,   by_rows ? stride : 1, by_rows ? 1 : rows, nullptr, kernels.panel,
                      columns, c,       columns, accumulate};
      product.then_a_bytes = product.then_b_bytes = 64;
      kernels.multiply_terms(product, terms.data(), count);
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(c[i], expected[i]) << i;
    }
}

/// A pixel's activations times a tap's matrix, and for dx that matrix transposed; one and a half panels of columns.
TEST_P(WinogradKernels, a_pixels_product_with_a_tap_is_exact) {
  if (GetParam().bf16 && kernels.pair == 1) GTEST_SKIP() << "products of such a table are of transformed activations";
  for (const bool gradient : {false, true})
    for (const int64_t images : {1, 16, 45}) {
      SCOPED_TRACE(testing::Message() << images << " images, gradient " << gradient);
      const int64_t from = 4 * kernels.lanes, to = 3 * kernels.lanes, panel = kernels.panel, depth = from / kernels.pair;
      const int64_t in = gradient ? to : from, out = gradient ? from : to;
      const Stored x = stored(whole(images * from)), w = stored(whole(in * out));
      Values a(size_t(images * depth)), b(size_t(2 * panel * depth)), c(size_t(images * to));
      if (kernels.pack_run) kernels.pack_run(x.at(0), a.data(), images * from);
      else std::memcpy(a.data(), x.at(0), a.size() * sizeof(float));
      kernels.pack_weight(w.at(0), b.data(), in, out, gradient, panel, to);
      kernels.pack_weight(w.at(0), b.data(), in, out, gradient, 0, panel);
      kernels.multiply({images, to, depth, a.data(), depth, 1, b.data(), panel * depth, panel, c.data(), to, false});
      for (int64_t i = 0; i < images; ++i)
        for (int64_t j = 0; j < to; ++j) {
          float sum = 0;
          for (int64_t k = 0; k < from; ++k)
            sum += product_of(x.values[size_t(i * from + k)], w.values[size_t(gradient ? j * out + k : k * out + j)]);
          ASSERT_EQ(c[size_t(i * to + j)], sum) << i << ", " << j;
        }
    }
}

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

INSTANTIATE_TEST_SUITE_P(tables, WinogradKernels,
                         testing::Values(Subject{"v3_f32", "x86-64-v3", &v3::f32, false},
                                         Subject{"v3_bf16", "x86-64-v3", &v3::bf16, true},
                                         Subject{"v4_f32", "x86-64-v4", &v4::f32, false},
                                         Subject{"v4_bf16", "x86-64-v4", &v4::bf16, true},
                                         Subject{"v4_bf16_gradients", "x86-64-v4", &v4_bf16::narrow, true, Needs::bf16},
                                         Subject{"v4_amx_gradients", "x86-64-v4", &v4_amx::narrow, true, Needs::tiles},
                                         Subject{"v4_amx_split", "x86-64-v4", &v4_amx::split, false, Needs::tiles},
                                         Subject{"emulated_gradients", "x86-64-v4", &emulated::narrow, true, Needs::bf16},
                                         Subject{"emulated_split", "x86-64-v4", &emulated::split, false, Needs::bf16}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sheaf::winograd

#endif
