// Means against double-precision sums.
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
