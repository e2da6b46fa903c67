// Means and sums against double-precision sums.
#include "ir/Scalars.h"
#include "tests/unit/codegen/loaded_kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

namespace sheaf::kernels {
namespace {

using mlir::OpBuilder;
using mlir::ValueRange;
using Values = llvm::SmallVector<mlir::Value>;
using Loc = mlir::Location;

TEST(Mean, AgreesWithDoublePrecisionOverEachKindOfDimension) {
  auto cases = row_cases();
  cases.push_back({{2}, {100000}, {1}});
  cases.push_back({{1}, {20000}, {3}});
  LoadedKernels kernels;
  std::vector<KernelUse> uses;
  for (const RowCase& c : cases) {
    MeanSpec spec;
    spec.x.shape = {c.outer.extent(), c.n.extent(), c.inner.extent()};
    spec.dim = -2;
    auto use = kernels.module.add_mean(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (size_t k = 0; k < cases.size(); ++k) {
    const RowCase& c = cases[k];
    int64_t outer = c.outer.value, n = c.n.value, inner = c.inner.value;
    std::map<std::string, int64_t> sizes;
    for (Size size : {c.outer, c.n, c.inner})
      if (size.dynamic) sizes["batch"] = size.value;
    auto x = random_values(outer * n * inner, static_cast<unsigned>(k), 1, 100);
    std::vector<float> y(static_cast<size_t>(outer * inner) + 1, 99);
    kernels.run(uses[k], {x.data(), y.data()}, sizes, 2, [&] {
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t j = 0; j < inner; ++j) {
          double sum = 0;
          for (int64_t i = 0; i < n; ++i) sum += x[size_t((o * n + i) * inner + j)];
          if (n == 0) ASSERT_TRUE(std::isnan(y[size_t(o * inner + j)]));  // 0 / 0, as in PyTorch
          else ASSERT_NEAR(y[size_t(o * inner + j)], sum / double(n), 2e-5) << "case " << k;
        }
      }
      ASSERT_EQ(y.back(), 99);
    });
  }
}

TEST(Mean, OverSeveralDimensionsWithFusedActivations) {
  LoadedKernels kernels;
  MeanSpec spec;
  spec.x.shape = {batch(), 6, 7, 7};
  spec.dim = 2;
  spec.dims = 2;
  spec.prologue.body = [](OpBuilder& b, Loc l, ValueRange v) { return Values{scalar::relu(b, l, v[0])}; };
  spec.epilogue.operands = {{DType::float32, {batch(), 6, 1, 1}}};
  spec.epilogue.body = [](OpBuilder& b, Loc l, ValueRange v) { return Values{b.create<mlir::arith::MulFOp>(l, v[0], v[1])}; };
  auto use = kernels.module.add_mean(spec);
  ASSERT_TRUE(use) << to_string(use.error());
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  auto x = random_values(4 * 6 * 49, 1), factor = random_values(24, 2);
  std::vector<float> y(24);
  kernels.run(*use, {x.data(), factor.data(), y.data()}, {{"batch", 4}}, 3, [&] {
    for (size_t r = 0; r < 24; ++r) {
      double sum = 0;
      for (size_t i = 0; i < 49; ++i) sum += std::max(x[r * 49 + i], 0.f);
      ASSERT_NEAR(y[r], sum / 49 * factor[r], 2e-6);
    }
  });
}

/// Σ x · q over dimensions of [batch, 5, 6, 7] with q broadcast in every way: q has the dimensions that are bits of each of
/// first, …, last - 1.
void check_sums_of_products(int first, int last) {
  LoadedKernels kernels;
  const std::vector<int64_t> sizes{3, 5, 6, 7};
  const Shape shape{batch(), 5, 6, 7};
  struct Case {
    std::vector<bool> moves;  ///< dimensions that q has
    int64_t dim, dims;
    KernelUse use = {};
  };
  std::vector<Case> cases;
  for (int pattern = first; pattern < last; ++pattern)
    for (auto [dim, dims] : std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 1}, {3, 1}, {0, 4}, {2, 2}, {1, 2}, {0, 3}})
      cases.push_back({{bool(pattern & 1), bool(pattern & 2), bool(pattern & 4), bool(pattern & 8)}, dim, dims});
  for (Case& c : cases) {
    MeanSpec spec;
    spec.x.shape = shape;
    spec.dim = c.dim;
    spec.dims = c.dims;
    spec.take = Reduction::sum;
    Shape q = shape;
    for (size_t d = 0; d < 4; ++d)
      if (!c.moves[d]) q[d] = 1;
    spec.prologue.operands = {{DType::float32, q}};
    spec.prologue.body = [](OpBuilder& b, Loc l, ValueRange v) { return Values{b.create<mlir::arith::MulFOp>(l, v[0], v[1])}; };
    auto use = kernels.module.add_mean(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    c.use = *use;
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  const size_t count = 3 * 5 * 6 * 7;
  auto x = random_values(count, 1), q = random_values(count, 2);
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    std::vector<double> expected(count, 0);
    size_t results = 0;
    for (size_t flat = 0; flat < count; ++flat) {
      size_t q_at = 0, y_at = 0, rest = count, from = flat;
      for (size_t d = 0; d < 4; ++d) {
        rest /= size_t(sizes[d]);
        size_t index = from / rest;
        from %= rest;
        if (c.moves[d]) q_at = q_at * size_t(sizes[d]) + index;
        if (int64_t(d) < c.dim || int64_t(d) >= c.dim + c.dims) y_at = y_at * size_t(sizes[d]) + index;
      }
      expected[y_at] += double(x[flat]) * q[q_at];
      results = std::max(results, y_at + 1);
    }
    std::vector<float> y(results + 1, 99);
    for (int parts : {1, 2, 5})
      kernels.run(c.use, {x.data(), q.data(), y.data()}, {{"batch", 3}}, parts, [&] {
        for (size_t i = 0; i < results; ++i) ASSERT_NEAR(y[i], expected[i], 2e-3) << "case " << k << " at " << i;
        ASSERT_EQ(y[results], 99);
        std::fill(y.begin(), y.end() - 1, -1.f);
      });
  }
}

TEST(Mean, SumsOfProductsWithOperandsOfTheFirstDimensions) { check_sums_of_products(0, 8); }
TEST(Mean, SumsOfProductsWithOperandsThatHaveTheLast) { check_sums_of_products(8, 16); }

TEST(Mean, ColumnSumsAreSharedOutByColumnsWithTheSameBitsForEachSplit) {
  LoadedKernels kernels;
  MeanSpec spec;
  spec.x.shape = {batch(), 1000};
  spec.dim = 0;
  spec.take = Reduction::sum;
  auto use = kernels.module.add_mean(spec);
  ASSERT_TRUE(use) << to_string(use.error());
  EXPECT_EQ(use->work, Extent(1000));
  EXPECT_GE(use->grain, 16);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  auto x = random_values(300 * 1000, 1);
  std::vector<float> y(1000), whole;
  for (int parts : {1, 2, 7, 100})
    kernels.run(*use, {x.data(), y.data()}, {{"batch", 300}}, parts, [&] {
      for (size_t j = 0; j < 1000; ++j) {
        double sum = 0;
        for (size_t i = 0; i < 300; ++i) sum += x[i * 1000 + j];
        ASSERT_NEAR(y[j], sum, 1e-4);
      }
      if (whole.empty()) whole = y;
      ASSERT_EQ(y, whole);
      std::fill(y.begin(), y.end(), 0.f);
    });
}

TEST(Mean, CountsIntegersThroughACastAndRefusesThemWithout) {
  LoadedKernels kernels;
  MeanSpec spec;
  spec.x = {DType::int64, {batch(), 3}};
  spec.dim = 0;
  spec.dims = 2;
  spec.take = Reduction::sum;
  ASSERT_FALSE(kernels.module.add_mean(spec));
  spec.prologue.body = [](OpBuilder& b, Loc l, ValueRange v) {
    return Values{scalar::cast(b, l, v[0], false, b.getF32Type(), false)};
  };
  auto use = kernels.module.add_mean(spec);
  ASSERT_TRUE(use) << to_string(use.error());
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  std::vector<int64_t> x(300);
  for (size_t i = 0; i < x.size(); ++i) x[i] = int64_t(i % 7) - 2;
  float y = 0;
  kernels.run(*use, {x.data(), &y}, {{"batch", 100}}, 1, [&] {
    int64_t sum = 0;
    for (int64_t value : x) sum += value;
    ASSERT_EQ(y, float(sum));
    y = 0;
  });
}

/// Cross entropy as it is summed: Σ x · [class = target], where the class is a coordinate.
TEST(Mean, PrologueThatKnowsWhereItIs) {
  struct Case {
    Shape shape;
    std::vector<int64_t> sizes;  ///< with batch = 5
    int64_t dim, dims, place;    ///< the dimension whose coordinate is compared
  };
  const std::vector<Case> cases{{{batch(), 10}, {5, 10}, 0, 2, 1},     {{batch(), 10}, {5, 10}, 1, 1, 1},
                                {{batch(), 10}, {5, 10}, 0, 1, 1},     {{batch(), 7, 6}, {5, 7, 6}, 1, 1, 1},
                                {{batch(), 7, 6}, {5, 7, 6}, 1, 2, 0}, {{batch(), 7, 6}, {5, 7, 6}, 0, 2, 2}};
  LoadedKernels kernels;
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    MeanSpec spec;
    spec.x.shape = c.shape;
    spec.dim = c.dim;
    spec.dims = c.dims;
    spec.take = Reduction::sum;
    Shape target = c.shape;
    for (size_t d = 1; d < target.size(); ++d) target[d] = 1;
    spec.prologue.operands = {{DType::int64, target}};
    spec.prologue.coordinates.assign(c.shape.size(), 0);
    spec.prologue.coordinates[size_t(c.place)] = Extent::symbol("first0");
    spec.prologue.body = [&](OpBuilder& b, Loc l, ValueRange v) {
      mlir::Value same = b.create<mlir::arith::CmpIOp>(l, mlir::arith::CmpIPredicate::eq, v[1], v[2 + unsigned(c.place)]);
      return Values{b.create<mlir::arith::SelectOp>(l, same, v[0], scalar::constant(b, l, 0))};
    };
    auto use = kernels.module.add_mean(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    uses.push_back(*use);
    spec.prologue.coordinates.pop_back();
    EXPECT_FALSE(kernels.module.add_mean(spec));
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    size_t count = 1;
    for (int64_t size : c.sizes) count *= size_t(size);
    auto x = random_values(int64_t(count), 1);
    std::vector<int64_t> target{103, 100, 102, 104, 101};
    std::vector<float> expected(count, 0.f), y(count, 99);
    size_t results = 0;
    for (size_t flat = 0; flat < count; ++flat) {
      size_t y_at = 0, rest = count, from = flat, place = 0, row = 0;
      for (size_t d = 0; d < c.sizes.size(); ++d) {
        rest /= size_t(c.sizes[d]);
        size_t index = from / rest;
        from %= rest;
        if (d == 0) row = index;
        if (d == size_t(c.place)) place = index;
        if (int64_t(d) < c.dim || int64_t(d) >= c.dim + c.dims) y_at = y_at * size_t(c.sizes[d]) + index;
      }
      results = std::max(results, y_at + 1);
      if (int64_t(place) + 100 == target[row]) expected[y_at] += x[flat];
    }
    for (int parts : {1, 3})
      kernels.run(uses[k], {x.data(), target.data(), y.data()}, {{"batch", 5}, {"first0", 100}}, parts, [&] {
        for (size_t i = 0; i < results; ++i) ASSERT_NEAR(y[i], expected[i], 1e-5) << "case " << k << " at " << i;
        std::fill(y.begin(), y.end(), 99.f);
      });
  }
}

}  // namespace
}  // namespace sheaf::kernels
