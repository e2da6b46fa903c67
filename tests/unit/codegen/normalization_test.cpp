// Layer and group normalisation against double-precision loops.
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

TEST(Normalization, LayerNormWithAndWithoutWeights) {
  struct Case {
    Size rows;
    std::vector<int64_t> dims;
    bool weight, bias;
    float shift;
  };
  std::vector<Case> cases{{{5, true}, {10}, true, true, 0},    {{7}, {512}, true, true, 1000},
                          {{3, true}, {6, 7}, true, false, 0}, {{2}, {10000}, false, false, 5},
                          {{0, true}, {3}, true, true, 0},     {{4, true}, {1}, true, true, 0}};
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
    spec.prologue.body = [](OpBuilder& b, Loc l, ValueRange v) { return Values{b.create<mlir::arith::AddFOp>(l, v[0], v[1])}; };
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

TEST(Normalization, RefusesGroupsThatDoNotDivide) {
  LoadedKernels kernels;
  NormalizationSpec spec;
  spec.x.shape = {batch(), 10, 4};
  spec.groups = 3;
  auto use = kernels.module.add_normalization(spec);
  ASSERT_FALSE(use);
  EXPECT_EQ(use.error().message(), "layer_norm: 10 channels do not divide into 3 groups");
}

}  // namespace
}  // namespace sheaf::kernels
