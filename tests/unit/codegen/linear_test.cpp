// Small linear layers against double-precision sums.
#include "ir/Scalars.h"
#include "tests/unit/codegen/loaded_kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

namespace sheaf::kernels {
namespace {

using mlir::OpBuilder;
using mlir::ValueRange;
using Values = llvm::SmallVector<mlir::Value>;

TEST(Linear, EachSizeClassWithActivation) {
  struct Case {
    int64_t in, out;
    bool bias;
  };
  std::vector<Case> cases{{5, 2, true},   {1, 1, false},   {8, 8, true},    {16, 100, true}, {32, 33, false}, {3, 1000, true},
                          {128, 2, true}, {100, 10, true}, {512, 7, false}, {33, 4, true},   {20, 1000, true}};
  LoadedKernels kernels;
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    LinearSpec spec;
    spec.rows = batch();
    spec.in = c.in;
    spec.out = c.out;
    spec.bias = c.bias;
    spec.epilogue.operands = {{DType::float32, {batch(), c.out}}};
    spec.epilogue.body = [](OpBuilder& b, mlir::Location l, ValueRange v) {
      return Values{scalar::relu(b, l, b.create<mlir::arith::AddFOp>(l, v[0], v[1]))};
    };
    auto use = kernels.module.add_linear(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    for (int64_t rows : {0, 1, 7, 30}) {
      auto x = random_values(rows * c.in, 1, 1), weight = random_values(c.out * c.in, 2, 1), bias = random_values(c.out, 3, 1),
           residual = random_values(rows * c.out, 4, 1);
      std::vector<float> y(residual.size() + 1, 99);
      std::vector<void*> buffers{x.data(), weight.data()};
      if (c.bias) buffers.push_back(bias.data());
      buffers.push_back(residual.data());
      buffers.push_back(y.data());
      kernels.run(uses[k], buffers, {{"batch", rows}}, 2, [&] {
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t o = 0; o < c.out; ++o) {
            double sum = (c.bias ? bias[size_t(o)] : 0) + residual[size_t(r * c.out + o)];
            for (int64_t i = 0; i < c.in; ++i) sum += double(x[size_t(r * c.in + i)]) * weight[size_t(o * c.in + i)];
            ASSERT_NEAR(y[size_t(r * c.out + o)], std::max(sum, 0.0), 1e-6 * std::sqrt(double(c.in)) * 4)
                << c.in << " to " << c.out;
          }
        }
        ASSERT_EQ(y.back(), 99);
      });
    }
  }
}

}  // namespace
}  // namespace sheaf::kernels
