// Softmax, normalisation and mean against double-precision loops.
#include "codegen/kernels/scalar_ops.h"
#include "tests/unit/codegen/loaded_kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <limits>
#include <random>

namespace sheaf::kernels {
namespace {

using mlir::OpBuilder;
using mlir::ValueRange;
using Values = llvm::SmallVector<mlir::Value>;
using Loc = mlir::Location;
constexpr float infinity = std::numeric_limits<float>::infinity();

Extent batch() { return Extent::symbol("batch"); }

std::vector<float> random_values(int64_t count, unsigned seed, float scale = 3, float shift = 0) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(shift, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

/// `static_size`, or "batch" with that value.
struct Size {
  int64_t value;
  bool dynamic = false;
  Extent extent() const { return dynamic ? batch() : Extent(value); }
};

struct RowCase {
  Size outer, n, inner;
};
std::vector<RowCase> row_cases() {
  return {{{4, true}, {10}, {1}},  {{3}, {1000}, {1}},  {{2}, {77, true}, {1}},  {{5, true}, {1}, {1}},
          {{1}, {16}, {1}},        {{2}, {5}, {130}},   {{3, true}, {7}, {9}},   {{2}, {6}, {100, true}},
          {{2}, {33, true}, {64}}, {{0, true}, {4}, {3}}, {{2}, {0, true}, {3}}, {{2}, {3}, {0, true}}};
}

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
      if (k < 2) x[0] = 1e4, x[11] = -1e4;       // far apart in one row
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
  x[3] = -infinity;                                              // row 0: one of 20 is masked
  for (int i = 20; i < 40; ++i) x[static_cast<size_t>(i)] = -infinity;  // row 1: all are: NaN, as in PyTorch
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
  spec.epilogue.body = [](OpBuilder& b, Loc l, ValueRange v) {
    return Values{b.create<mlir::arith::MulFOp>(l, v[0], v[1])};
  };
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
      for (int64_t i = 0; i < size; ++i)
        ASSERT_NEAR(y[size_t(r * size + i)], value(i) / sum * factor[size_t(h)], 1e-6);
    }
  });
}

TEST(Normalization, LayerNormWithAndWithoutWeights) {
  struct Case {
    Size rows;
    std::vector<int64_t> dims;
    bool weight, bias;
    float shift;
  };
  std::vector<Case> cases{{{5, true}, {10}, true, true, 0},      {{7}, {512}, true, true, 1000}, {{3, true}, {6, 7}, true, false, 0},
                          {{2}, {10000}, false, false, 5},       {{0, true}, {3}, true, true, 0}, {{4, true}, {1}, true, true, 0}};
  LoadedKernels kernels;
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    NormalizationSpec spec;
    spec.x.shape = {c.rows.extent()};
    for (int64_t d : c.dims) spec.x.shape.push_back(d);
    spec.normalized_dims = static_cast<int64_t>(c.dims.size());
    spec.weight = c.weight;
    spec.bias = c.bias;
    auto use = kernels.module.add_normalization(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    int64_t n = 1, rows = c.rows.value;
    for (int64_t d : c.dims) n *= d;
    auto x = random_values(rows * n, 1, 2, c.shift), weight = random_values(n, 2), bias = random_values(n, 3);
    std::vector<float> y(x.size() + 1, 99);
    std::vector<void*> buffers{x.data()};
    if (c.weight) buffers.push_back(weight.data());
    if (c.bias) buffers.push_back(bias.data());
    buffers.push_back(y.data());
    kernels.run(uses[k], buffers, {{"batch", rows}}, 2, [&] {
      for (int64_t r = 0; r < rows; ++r) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < n; ++i) mean += x[size_t(r * n + i)] / double(n);
        for (int64_t i = 0; i < n; ++i) variance += std::pow(x[size_t(r * n + i)] - mean, 2) / double(n);
        for (int64_t i = 0; i < n; ++i) {
          double expected = (x[size_t(r * n + i)] - mean) / std::sqrt(variance + 1e-5);
          if (c.weight) expected *= weight[size_t(i)];
          if (c.bias) expected += bias[size_t(i)];
          ASSERT_NEAR(y[size_t(r * n + i)], expected, 4e-6) << "case " << k << " row " << r;
        }
      }
      ASSERT_EQ(y.back(), 99);
    });
  }
}

TEST(Normalization, GroupNormWithActivationAndResidual) {
  LoadedKernels kernels;
  struct Case {
    int64_t groups;
    Size spatial;
  };
  std::vector<Case> cases{{1, {20}}, {3, {5, true}}, {12, {4}}, {2, {1}}};
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    NormalizationSpec spec;
    spec.name = "group_norm";
    spec.x.shape = {3, 12, c.spatial.extent()};
    spec.groups = c.groups;
    spec.prologue.operands = {{DType::float32, spec.x.shape}};
    spec.prologue.body = [](OpBuilder& b, Loc l, ValueRange v) {
      return Values{b.create<mlir::arith::AddFOp>(l, v[0], v[1])};
    };
    spec.epilogue.body = [](OpBuilder& b, Loc l, ValueRange v) { return Values{scalar::relu(b, l, v[0])}; };
    auto use = kernels.module.add_normalization(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    EXPECT_EQ(use->work, Extent(3 * c.groups));
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (size_t k = 0; k < cases.size(); ++k) {
    int64_t spatial = cases[k].spatial.value, channels = 12 / cases[k].groups, n = channels * spatial;
    auto x = random_values(36 * spatial, 1), residual = random_values(36 * spatial, 2), weight = random_values(12, 3),
         bias = random_values(12, 4);
    std::vector<float> y(x.size());
    kernels.run(uses[k], {x.data(), weight.data(), bias.data(), residual.data(), y.data()}, {{"batch", spatial}}, 2, [&] {
      for (int64_t r = 0; r < 3 * cases[k].groups; ++r) {
        double mean = 0, variance = 0;
        auto value = [&](int64_t i) { return double(x[size_t(r * n + i)]) + residual[size_t(r * n + i)]; };
        for (int64_t i = 0; i < n; ++i) mean += value(i) / double(n);
        for (int64_t i = 0; i < n; ++i) variance += std::pow(value(i) - mean, 2) / double(n);
        for (int64_t i = 0; i < n; ++i) {
          size_t c = size_t(r % cases[k].groups * channels + i / spatial);
          double expected = (value(i) - mean) / std::sqrt(variance + 1e-5) * weight[c] + bias[c];
          ASSERT_NEAR(y[size_t(r * n + i)], std::max(expected, 0.0), 4e-6) << "case " << k;
        }
      }
    });
  }
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

TEST(Normalization, RefusesGroupsThatDoNotDivide) {
  LoadedKernels kernels;
  NormalizationSpec spec;
  spec.x.shape = {batch(), 10, 4};
  spec.groups = 3;
  auto use = kernels.module.add_normalization(spec);
  ASSERT_FALSE(use);
  EXPECT_EQ(use.error().message(), "layer_norm: 10 channels do not divide into 3 groups");
}

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
          if (n == 0)
            ASSERT_TRUE(std::isnan(y[size_t(o * inner + j)]));  // 0 / 0, as in PyTorch
          else
            ASSERT_NEAR(y[size_t(o * inner + j)], sum / double(n), 2e-5) << "case " << k;
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
  spec.epilogue.body = [](OpBuilder& b, Loc l, ValueRange v) {
    return Values{b.create<mlir::arith::MulFOp>(l, v[0], v[1])};
  };
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

}  // namespace
}  // namespace sheaf::kernels
