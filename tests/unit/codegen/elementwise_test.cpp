// Element-wise kernels against double-precision arithmetic.
#include "ir/Scalars.h"
#include "tests/unit/codegen/loaded_kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <limits>
#include <map>

namespace sheaf::kernels {
namespace {

using mlir::OpBuilder;
using mlir::ValueRange;
using Values = llvm::SmallVector<mlir::Value>;
using Loc = mlir::Location;

struct Function {
  std::string name;
  std::function<mlir::Value(OpBuilder&, Loc, mlir::Value)> emit;
  std::function<double(double)> expected;
  double cancellation = 0;  ///< error that is proportional to x rather than to the result
};

std::vector<Function> functions() {
  return {
      {"relu", scalar::relu, [](double x) { return x < 0 ? 0 : x; }},
      {"leaky_relu", [](OpBuilder& b, Loc l, mlir::Value x) { return scalar::leaky_relu(b, l, x, 0.01); },
       [](double x) { return x > 0 ? x : 0.01 * x; }},
      {"elu", [](OpBuilder& b, Loc l, mlir::Value x) { return scalar::elu(b, l, x, 1.5); },
       [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); }},
      {"silu", scalar::silu, [](double x) { return x * sigmoid(x); }},
      {"gelu", scalar::gelu, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, 2e-7},
      {"gelu_tanh", scalar::gelu_tanh,
       [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }, 1e-9},
      {"tanh", scalar::tanh, [](double x) { return std::tanh(x); }},
      {"sigmoid", scalar::sigmoid, sigmoid},
      {"hardtanh", [](OpBuilder& b, Loc l, mlir::Value x) { return scalar::hardtanh(b, l, x, -1, 2); },
       [](double x) { return x < -1  ? -1
                             : x > 2 ? 2
                                     : x; }},
  };
}

TEST(Elementwise, ArithmeticIsCountedByDefinitionAndByInstructions) {
  LoadedKernels kernels;
  std::map<std::string, KernelArithmetic> found;
  for (const Function& f : functions()) {
    ASSERT_TRUE(kernels.module.add_elementwise(
        {f.name, "", {{DType::float32, {batch(), 7}}}, {batch(), 7}, {DType::float32}, [&](OpBuilder& b, Loc l, ValueRange x) {
           return Values{f.emit(b, l, x[0])};
         }}));
    const Kernel& kernel = kernels.module.kernels().back();
    ASSERT_EQ(kernel.arithmetic.size(), 1U) << f.name;
    EXPECT_EQ(kernel.arithmetic[0].operand, 1) << f.name << ": an element of y";
    EXPECT_GE(kernel.arithmetic[0].instructions, kernel.arithmetic[0].each) << f.name;
    found[f.name] = kernel.arithmetic[0];
  }
  EXPECT_LT(found["relu"].instructions, 4);
  EXPECT_EQ(found["tanh"].each, 1);
  EXPECT_GT(found["tanh"].instructions, 10);
  EXPECT_GT(found["silu"].instructions, 10) << "an exponential and a quotient";
}

TEST(Elementwise, ActivationsAgreeWithDoublePrecisionUpToTheLargestArguments) {
  LoadedKernels kernels;
  std::vector<KernelUse> uses;
  for (const Function& f : functions()) {
    auto use = kernels.module.add_elementwise(
        {f.name, "", {{DType::float32, {batch(), 7}}}, {batch(), 7}, {DType::float32}, [&](OpBuilder& b, Loc l, ValueRange x) {
           return Values{f.emit(b, l, x[0])};
         }});
    ASSERT_TRUE(use) << to_string(use.error());
    EXPECT_TRUE(use->elementwise);
    EXPECT_EQ(use->work, batch() * 7);
    EXPECT_TRUE(use->extents.empty());
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  std::vector<float> x = random_values(7 * 143, 1);
  std::vector<float> special{0,    -0.0f, 1e4,  -1e4,  infinity, -infinity, nan, 88, -88, 104, -104,
                             1e-6, -1e-6, 1e38, -1e38, -0.5,     -0.4999,   0.3, 5,  -5,  9,   -9};
  for (size_t i = 0; i < special.size(); ++i) x[x.size() - 30 + i] = x[3 * i] = special[i];
  auto all = functions();
  for (size_t k = 0; k < all.size(); ++k) {
    for (int parts : {1, 3, 10}) {
      std::vector<float> y(x.size(), 99);
      kernels.run(uses[k], {x.data(), y.data()}, {{"batch", 143}}, parts, [&] {
        for (size_t i = 0; i < x.size(); ++i) {
          double expected = all[k].expected(x[i]);
          if (std::isnan(expected) && std::isinf(x[i]) && x[i] < 0) continue;  // -inf · 0: a matter of taste
          if (std::isnan(expected)) ASSERT_TRUE(std::isnan(y[i])) << all[k].name << "(" << x[i] << ") = " << y[i];
          else if (std::isinf(expected) || std::abs(expected) > 3e38)
            ASSERT_EQ(y[i], static_cast<float>(expected)) << all[k].name << "(" << x[i] << ")";
          else
            ASSERT_NEAR(y[i], expected,
                        1e-38 + 1e-6 * std::abs(expected) + all[k].cancellation * std::min(std::abs(x[i]), 1e5f))
                << all[k].name << "(" << x[i] << ")";
        }
        std::fill(y.begin(), y.end(), 99.f);
      });
    }
  }
}

/// x · s + t with every broadcast pattern of s and t.
TEST(Elementwise, Broadcasting) {
  LoadedKernels kernels;
  struct Case {
    Shape x, s, t, y;
    std::vector<int64_t> xs, ss, ts, ys;  // with batch = 5, chunk = 3
  };
  Extent n = batch(), c = Extent::symbol("chunk");
  std::vector<Case> cases{
      {{n, 3, 7, 5}, {3, 1, 1}, {1}, {n, 3, 7, 5}, {5, 3, 7, 5}, {3, 1, 1}, {1}, {5, 3, 7, 5}},
      {{n, 10}, {10}, {n, 1}, {n, 10}, {5, 10}, {10}, {5, 1}, {5, 10}},
      {{n, 1, 4}, {6, 1}, {n, 6, 4}, {n, 6, 4}, {5, 1, 4}, {6, 1}, {5, 6, 4}, {5, 6, 4}},
      {{n, 2, c, c}, {n, 1, 1, c}, {c, 1}, {n, 2, c, c}, {5, 2, 3, 3}, {5, 1, 1, 3}, {3, 1}, {5, 2, 3, 3}},
      {{n * 2, 33}, {n * 2, 33}, {n * 2, 33}, {n * 2, 33}, {10, 33}, {10, 33}, {10, 33}, {10, 33}},
      {{}, {}, {}, {}, {}, {}, {}, {}},
      {{1}, {1}, {n, 17}, {n, 17}, {1}, {1}, {5, 17}, {5, 17}},
      {{n, 0, 3}, {3}, {1}, {n, 0, 3}, {5, 0, 3}, {3}, {1}, {5, 0, 3}},
  };
  std::vector<KernelUse> uses;
  for (const Case& k : cases) {
    auto use = kernels.module.add_elementwise(
        {"affine",
         "",
         {{DType::float32, k.x}, {DType::float32, k.s}, {DType::float32, k.t}},
         k.y,
         {DType::float32},
         [&](OpBuilder& b, Loc l, ValueRange v) {
           return Values{b.create<mlir::arith::AddFOp>(l, b.create<mlir::arith::MulFOp>(l, v[0], v[1]), v[2])};
         }});
    ASSERT_TRUE(use) << to_string(use.error());
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  auto count = [](const std::vector<int64_t>& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return static_cast<size_t>(n);
  };
  auto offset = [](size_t flat, const std::vector<int64_t>& shape, const std::vector<int64_t>& operand) {
    size_t result = 0, stride = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      size_t index = flat % static_cast<size_t>(shape[shape.size() - 1 - i]);
      flat /= static_cast<size_t>(shape[shape.size() - 1 - i]);
      if (i >= operand.size()) continue;
      int64_t size = operand[operand.size() - 1 - i];
      if (size != 1) result += index * stride;
      stride *= static_cast<size_t>(size);
    }
    return result;
  };
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& it = cases[k];
    auto x = random_values(count(it.xs), 1), s = random_values(count(it.ss), 2), t = random_values(count(it.ts), 3);
    std::vector<float> y(count(it.ys) + 1, 99);
    for (int parts : {1, 4}) {
      kernels.run(uses[k], {x.data(), s.data(), t.data(), y.data()}, {{"batch", 5}, {"chunk", 3}}, parts, [&] {
        for (size_t i = 0; i + 1 < y.size(); ++i) {
          double expected = double(x[offset(i, it.ys, it.xs)]) * s[offset(i, it.ys, it.ss)] + t[offset(i, it.ys, it.ts)];
          ASSERT_NEAR(y[i], expected, 1e-5) << "case " << k << " element " << i;
        }
        ASSERT_EQ(y.back(), 99);
        std::fill(y.begin(), y.end(), 99.f);
      });
    }
  }
}

TEST(Elementwise, BatchNormIsAppliedPerChannelAndFoldsIntoWeights) {
  LoadedKernels kernels;
  Operand channel{DType::float32, {6, 1, 1}}, out{DType::float32, {6, 1}};
  auto apply = kernels.module.add_elementwise(
      {"batch_norm",
       "",
       {{DType::float32, {batch(), 6, 4, 5}}, channel, channel, channel, channel},
       {batch(), 6, 4, 5},
       {DType::float32},
       [](OpBuilder& b, Loc l, ValueRange v) { return Values{scalar::batch_norm(b, l, v[0], v[1], v[2], v[3], v[4], 1e-5)}; }});
  auto fold = kernels.module.add_elementwise(
      {"fold", "", {{DType::float32, {6, 27}}, out, out}, {6, 27}, {DType::float32}, [](OpBuilder& b, Loc l, ValueRange v) {
         return Values{b.create<mlir::arith::MulFOp>(l, v[0], scalar::batch_norm_factor(b, l, v[1], v[2], 1e-5))};
       }});
  ASSERT_TRUE(apply && fold);
  EXPECT_EQ(apply->work, batch() * 6);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  auto x = random_values(3 * 6 * 20, 1), w = random_values(6 * 27, 2), mean = random_values(6, 3, 1000),
       gamma = random_values(6, 4), beta = random_values(6, 5), var = random_values(6, 6);
  for (float& v : var) v = v * v + 0.01f;
  for (size_t i = 0; i < x.size(); ++i) x[i] += mean[i / 20 % 6];  // a mean far from 0 must not cost accuracy
  std::vector<float> y(x.size()), folded(w.size());
  kernels.run(*apply, {x.data(), mean.data(), var.data(), gamma.data(), beta.data(), y.data()}, {{"batch", 3}}, 2, [&] {
    for (size_t i = 0; i < x.size(); ++i) {
      size_t c = i / 20 % 6;
      double expected = (double(x[i]) - mean[c]) * gamma[c] / std::sqrt(var[c] + 1e-5) + beta[c];
      ASSERT_NEAR(y[i], expected, 2e-6 * (1 + std::abs(expected - beta[c])));
    }
  });
  kernels.run(*fold, {w.data(), gamma.data(), var.data(), folded.data()}, {}, 2, [&] {
    for (size_t i = 0; i < w.size(); ++i)
      ASSERT_NEAR(folded[i], w[i] * gamma[i / 27] / std::sqrt(var[i / 27] + 1e-5), 1e-6 * (1 + std::abs(folded[i])));
  });
}

TEST(Elementwise, SeveralOutputsAndInPlace) {
  LoadedKernels kernels;
  auto use = kernels.module.add_elementwise({"sum_and_relu",
                                             "",
                                             {{DType::float32, {batch()}}, {DType::float32, {batch()}}},
                                             {batch()},
                                             {DType::float32, DType::float32},
                                             [](OpBuilder& b, Loc l, ValueRange v) {
                                               mlir::Value sum = b.create<mlir::arith::AddFOp>(l, v[0], v[1]);
                                               return Values{sum, scalar::relu(b, l, sum)};
                                             }});
  ASSERT_TRUE(use);
  EXPECT_EQ(use->in_place.size(), 4u);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (size_t n : {0, 1, 15, 16, 17, 1000}) {
    auto a = random_values(n, 1), b = random_values(n, 2), x = a, y = b;
    kernels.run(*use, {x.data(), y.data(), x.data(), y.data()}, {{"batch", n}}, 3, [&] {
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(x[i], a[i] + b[i]);
        ASSERT_EQ(y[i], std::max(a[i] + b[i], 0.f));
      }
      x = a, y = b;
    });
  }
}

TEST(Elementwise, EqualStructureSharesAKernel) {
  LoadedKernels kernels;
  auto add = [&](Shape shape, double slope) {
    return kernels.module.add_elementwise(
        {"leaky", "", {{DType::float32, shape}}, shape, {DType::float32}, [=](OpBuilder& b, Loc l, ValueRange v) {
           return Values{scalar::leaky_relu(b, l, v[0], slope)};
         }});
  };
  auto a = add({batch(), 3}, 0.1), b = add({Extent::symbol("chunk"), 8, 8}, 0.1), c = add({batch(), 3}, 0.2);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->name, b->name);
  EXPECT_NE(a->name, c->name);
  EXPECT_EQ(b->work, Extent::symbol("chunk") * 64);
  EXPECT_EQ(kernels.module.kernels().size(), 2u);
}

TEST(Elementwise, RefusesShapesThatDoNotBroadcast) {
  LoadedKernels kernels;
  auto use = kernels.module.add_elementwise(
      {"relu", "", {{DType::float32, {batch(), 3}}}, {batch(), 4}, {DType::float32}, [](OpBuilder& b, Loc l, ValueRange v) {
         return Values{v[0]};
       }});
  ASSERT_FALSE(use);
  EXPECT_EQ(use.error().message(), "relu: an operand's size 3 does not broadcast to 4");
  EXPECT_TRUE(kernels.module.kernels().empty());
}

/// y = x + the element's position in a larger tensor, of which this one is a block that begins at (first0, 0, 2).
TEST(Elementwise, BodiesThatKnowWhereTheyAre) {
  LoadedKernels kernels;
  struct Case {
    Shape shape;
    std::vector<int64_t> sizes;  ///< with batch = 5
    std::vector<Extent> coordinates;
    std::vector<int64_t> first;  ///< with first0 = 1 << 33
  };
  Extent first0 = Extent::symbol("first0");
  const int64_t far = int64_t{1} << 33;
  std::vector<Case> cases{{{batch(), 6, 9}, {5, 6, 9}, {first0, 0, 2}, {far, 0, 2}},
                          {{batch(), 1, 40}, {5, 1, 40}, {first0 * 3, 0, 0}, {3 * far, 0, 0}},
                          {{batch()}, {5}, {first0}, {far}},
                          {{7, batch()}, {7, 5}, {0, 0}, {0, 0}},
                          {{batch(), 0}, {5, 0}, {first0, 0}, {far, 0}}};
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    ElementwiseSpec spec;
    spec.name = "place";
    spec.inputs = {{DType::int64, c.shape}, {DType::int64, {1}}};
    spec.shape = c.shape;
    spec.outputs = {DType::int64};
    spec.coordinates = c.coordinates;
    spec.body = [](OpBuilder& b, Loc l, ValueRange v) {
      mlir::Value place = b.create<mlir::arith::ConstantIntOp>(l, 0, 64);
      mlir::Value ten = b.create<mlir::arith::ConstantIntOp>(l, 10, 64);
      for (mlir::Value index : v.drop_front(2)) {
        mlir::Value scaled = b.create<mlir::arith::MulIOp>(l, place, ten);
        place = b.create<mlir::arith::AddIOp>(l, scaled, index);
      }
      mlir::Value sum = b.create<mlir::arith::AddIOp>(l, v[0], v[1]);
      return Values{b.create<mlir::arith::AddIOp>(l, sum, place)};
    };
    auto use = kernels.module.add_elementwise(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    EXPECT_FALSE(use->elementwise);
    EXPECT_EQ(use->in_place.size(), 1u);
    uses.push_back(*use);
    spec.coordinates.push_back(0);
    EXPECT_FALSE(kernels.module.add_elementwise(spec));
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    size_t count = 1;
    for (int64_t size : c.sizes) count *= size_t(size);
    std::vector<int64_t> x(count), y(count + 1, 99);
    for (size_t i = 0; i < count; ++i) x[i] = int64_t(i * i);
    int64_t more = 1000;
    for (int parts : {1, 3})
      kernels.run(uses[k], {x.data(), &more, y.data()}, {{"batch", 5}, {"first0", far}}, parts, [&] {
        for (size_t i = 0; i < count; ++i) {
          int64_t place = 0, rest = int64_t(count), from = int64_t(i);
          for (size_t d = 0; d < c.sizes.size(); ++d) {
            rest /= c.sizes[d];
            place = place * 10 + from / rest + c.first[d];
            from %= rest;
          }
          ASSERT_EQ(y[i], x[i] + more + place) << "case " << k << " element " << i;
        }
        ASSERT_EQ(y.back(), 99);
        std::fill(y.begin(), y.end() - 1, -1);
      });
  }
}

}  // namespace
}  // namespace sheaf::kernels
