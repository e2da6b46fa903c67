// Products of small matrices by the tables of runtime/cpu/winograd/kernels.h that this CPU can run, compared with loops.
#if defined(__x86_64__)  // there are no tables elsewhere

#include "tests/unit/runtime/cpu/winograd_tables.h"

namespace sheaf::test {
void tile_fault(const char* what) { ADD_FAILURE() << what; }
}  // namespace sheaf::test

namespace sheaf::winograd {
namespace {

class WinogradProducts : public WinogradTables {
 protected:
  void check_product(int64_t rows, int64_t columns, int64_t values, bool accumulate, bool transposed);
};

void WinogradProducts::check_product(int64_t rows, int64_t columns, int64_t values, bool accumulate, bool transposed) {
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

TEST_P(WinogradProducts, products_of_any_height_are_exact_and_keep_to_their_memory) {
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
TEST_P(WinogradProducts, sums_of_products_are_exact) {
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
TEST_P(WinogradProducts, a_pixels_product_with_a_tap_is_exact) {
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

/// Of split values infinity becomes NaN: its product with the other's low part has any sign, or is of zero.
TEST_P(WinogradProducts, what_is_not_finite_stays_in_its_row) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const int64_t rows = 19, columns = kernels.panel, values = 2 * kernels.depth_unit, depth = values / kernels.pair;
    Values a(size_t(rows * depth)), b(size_t(depth * columns)), c(size_t(rows * columns));
    for (int64_t k = 0; k < values; ++k) {
      for (int64_t i = 0; i < rows; ++i) put(&a[size_t(i * depth)], 1, k, i == 5 && k == 1 ? value : 1.f);
      for (int64_t j = 0; j < columns; ++j) put(&b[size_t(j)], columns, k, 1.f);
    }
    kernels.multiply({rows, columns, depth, a.data(), depth, 1, b.data(), 0, columns, c.data(), columns, false});
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const float sum = c[size_t(i * columns + j)];
        if (i != 5) ASSERT_EQ(sum, float(values));
        else if (std::isnan(value) || split()) ASSERT_TRUE(std::isnan(sum));
        else ASSERT_EQ(sum, value);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(tables, WinogradProducts, testing::ValuesIn(subjects),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sheaf::winograd

#endif
