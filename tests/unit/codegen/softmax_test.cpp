// Softmax against double-precision loops.
#include "ir/Scalars.h"
#include "tests/unit/codegen/loaded_kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <limits>

namespace sheaf::kernels {
namespace {

using mlir::OpBuilder;
using mlir::ValueRange;
using Values = llvm::SmallVector<mlir::Value>;
using Loc = mlir::Location;

TEST(Softmax, AgreesWithDoublePrecisionOverEachKindOfDimension) {
  for (bool log : {false, true}) {
    LoadedKernels kernels;
    std::vector<KernelUse> uses;
    for (const RowCase& c : row_cases()) {
      SoftmaxSpec spec;
      spec.x.shape = {c.outer.extent(), c.n.extent(), c.inner.extent()};
      spec.dim = 1;
      spec.log = log;
      auto use = kernels.module.add_softmax(spec);
      ASSERT_TRUE(use) << to_string(use.error());
      EXPECT_EQ(use->work, c.outer.extent());
      uses.push_back(*use);
    }
    ASSERT_NO_FATAL_FAILURE(kernels.load());
    for (size_t k = 0; k < uses.size(); ++k) {
      RowCase c = row_cases()[k];
      int64_t outer = c.outer.value, n = c.n.value, inner = c.inner.value, count = outer * n * inner;
      std::map<std::string, int64_t> sizes;
      for (Size size : {c.outer, c.n, c.inner})
        if (size.dynamic) sizes["batch"] = size.value;
      auto x = random_values(count, static_cast<unsigned>(k), 10);
      if (k < 2) x[0] = 1e4, x[11] = -1e4;  // far apart in one row
      if (k == 3) x[0] = 1e30f;
      std::vector<float> y(static_cast<size_t>(count) + 1, 99);
      for (int parts : {1, 2}) {
        kernels.run(uses[k], {x.data(), y.data()}, sizes, parts, [&] {
          for (int64_t o = 0; o < outer; ++o) {
            for (int64_t j = 0; j < inner; ++j) {
              auto at = [&](int64_t i) { return static_cast<size_t>((o * n + i) * inner + j); };
              double max = -1e300, sum = 0;
              for (int64_t i = 0; i < n; ++i) max = std::max<double>(max, x[at(i)]);
              for (int64_t i = 0; i < n; ++i) sum += std::exp(x[at(i)] - max);
              for (int64_t i = 0; i < n; ++i) {
                double expected = std::exp(x[at(i)] - max) / sum;
                if (log) expected = x[at(i)] - max - std::log(sum);
                ASSERT_NEAR(y[at(i)], expected, log ? 1e-6 * (1 + std::abs(expected)) : 5e-6 * expected + 1e-38)
                    << "case " << k << " at " << o << " " << i << " " << j;
              }
            }
          }
          ASSERT_EQ(y.back(), 99);
          std::fill(y.begin(), y.end(), 99.f);
        });
      }
    }
  }
}

TEST(Softmax, InfinitiesAndNan) {
  LoadedKernels kernels;
  SoftmaxSpec spec;
  spec.x.shape = {batch(), 20};
  auto use = kernels.module.add_softmax(spec);
  spec.x.shape = {batch(), 20, 3};
  spec.dim = 1;
  auto columns = kernels.module.add_softmax(spec);
  ASSERT_TRUE(use && columns);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  std::vector<float> x(60, 0), y(60);
  x[3] = -infinity;                                                     // row 0: one of 20 is masked
  for (int i = 20; i < 40; ++i) x[static_cast<size_t>(i)] = -infinity;  // row 1: all are masked: NaN, as in PyTorch
  x[45] = std::numeric_limits<float>::quiet_NaN();
  kernels.run(*use, {x.data(), y.data()}, {{"batch", 3}}, 1, [&] {
    for (size_t i = 0; i < 20; ++i) ASSERT_NEAR(y[i], i == 3 ? 0 : 1 / 19., 1e-7);
    for (size_t i = 20; i < 60; ++i) ASSERT_TRUE(std::isnan(y[i])) << i;
  });
  std::vector<float> columns_of(60);
  for (size_t i = 0; i < 60; ++i) columns_of[i % 20 * 3 + i / 20] = x[i];
  kernels.run(*columns, {columns_of.data(), y.data()}, {{"batch", 1}}, 1, [&] {
    for (size_t i = 0; i < 20; ++i) {
      ASSERT_NEAR(y[i * 3], i == 3 ? 0 : 1 / 19., 1e-7);
      ASSERT_TRUE(std::isnan(y[i * 3 + 1]) && std::isnan(y[i * 3 + 2]));
    }
  });
}

TEST(Softmax, ScaleAndMaskBeforeItAndAProductAfterIt) {
  LoadedKernels kernels;
  int64_t heads = 3, size = 9;
  SoftmaxSpec spec;
  spec.x.shape = {batch(), heads, size, size};
  spec.prologue.operands = {{DType::float32, {batch(), 1, 1, size}}};
  spec.prologue.body = [](OpBuilder& b, Loc l, ValueRange v) {
    mlir::Value scaled = b.create<mlir::arith::MulFOp>(l, v[0], scalar::constant(b, l, 0.25));
    return Values{b.create<mlir::arith::AddFOp>(l, scaled, v[1])};
  };
  spec.epilogue.operands = {{DType::float32, {heads, 1, 1}}};
  spec.epilogue.body = [](OpBuilder& b, Loc l, ValueRange v) { return Values{b.create<mlir::arith::MulFOp>(l, v[0], v[1])}; };
  auto use = kernels.module.add_softmax(spec);
  ASSERT_TRUE(use) << to_string(use.error());
  EXPECT_EQ(use->work, batch() * (heads * size));
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  auto x = random_values(2 * heads * size * size, 1), mask = random_values(2 * size, 2), factor = random_values(heads, 3);
  std::vector<float> y(x.size());
  kernels.run(*use, {x.data(), mask.data(), factor.data(), y.data()}, {{"batch", 2}}, 5, [&] {
    for (int64_t r = 0; r < 2 * heads * size; ++r) {
      int64_t b = r / (heads * size), h = r / size % heads;
      double sum = 0;
      auto value = [&](int64_t i) { return std::exp(0.25 * x[size_t(r * size + i)] + mask[size_t(b * size + i)]); };
      for (int64_t i = 0; i < size; ++i) sum += value(i);
      for (int64_t i = 0; i < size; ++i) ASSERT_NEAR(y[size_t(r * size + i)], value(i) / sum * factor[size_t(h)], 1e-6);
    }
  });
}

TEST(Rows, SoftmaxAndNormalizationInPlace) {
  LoadedKernels kernels;
  std::vector<KernelUse> uses;
  for (int64_t n : {10, 100}) {
    for (bool log : {false, true}) {
      SoftmaxSpec spec;
      spec.x.shape = {batch(), n};
      spec.log = log;
      auto use = kernels.module.add_softmax(spec);
      ASSERT_TRUE(use);
      uses.push_back(*use);
    }
    NormalizationSpec spec;
    spec.x.shape = {batch(), n};
    spec.weight = spec.bias = false;
    auto use = kernels.module.add_normalization(spec);
    ASSERT_TRUE(use);
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (size_t k = 0; k < uses.size(); ++k) {
    ASSERT_EQ(uses[k].in_place.size(), 1u);
    auto x = random_values(5 * 100, 1), y = x, apart = x;
    for (size_t level = 0; level < kernels.levels(); ++level) {
      void* both[] = {x.data(), y.data()};
      void* one[] = {apart.data(), apart.data()};
      apart = x;
      kernels.function(level, uses[k].name)(both, nullptr, 0, 5);
      kernels.function(level, uses[k].name)(one, nullptr, 0, 5);
      size_t count = 5 * (k < 3 ? 10 : 100);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(y[i], apart[i]) << uses[k].name << " " << i;
    }
  }
}

}  // namespace
}  // namespace sheaf::kernels
