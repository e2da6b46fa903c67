// Derivatives of activations, losses and their derivatives, optimisers and random numbers: scalar definitions as
// kernels against double precision.
#include "ir/ElementFunctions.h"
#include "ir/Scalars.h"
#include "runtime/base/philox.h"
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

/// A function of the elements of `inputs` vectors.
struct Case {
  std::string name;
  size_t inputs;
  std::function<mlir::Value(OpBuilder&, Loc, ValueRange)> emit;
  std::function<double(const std::vector<double>&)> expected;
  double error = 1e-6;  ///< besides 1e-6 of the result: relative to the largest of the terms that cancel
};

/// Every case on the elements of `inputs` (as many as the case takes), in each level.
void expect_agreement(const std::vector<Case>& cases, const std::vector<std::vector<float>>& inputs) {
  LoadedKernels kernels;
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    ElementwiseSpec spec{.name = c.name,
                         .description = {},
                         .inputs = std::vector<Operand>(c.inputs, {DType::float32, {batch()}}),
                         .shape = {batch()},
                         .outputs = {DType::float32},
                         .body = [&](OpBuilder& b, Loc l, ValueRange v) { return Values{c.emit(b, l, v)}; }};
    auto use = kernels.module.add_elementwise(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  size_t count = inputs[0].size();
  for (size_t k = 0; k < cases.size(); ++k) {
    std::vector<float> y(count, 99);
    std::vector<void*> buffers;
    for (size_t i = 0; i < cases[k].inputs; ++i) buffers.push_back(const_cast<float*>(inputs[i].data()));
    buffers.push_back(y.data());
    kernels.run(uses[k], buffers, {{"batch", static_cast<int64_t>(count)}}, 3, [&] {
      for (size_t i = 0; i < count; ++i) {
        std::vector<double> x;
        std::string at = cases[k].name;
        for (size_t j = 0; j < cases[k].inputs; ++j) {
          x.push_back(inputs[j][i]);
          at += " " + std::to_string(inputs[j][i]);
        }
        double expected = cases[k].expected(x);
        if (std::isnan(expected)) ASSERT_TRUE(std::isnan(y[i])) << at << " gives " << y[i];
        else if (std::isinf(expected) || std::abs(expected) > 3.4e38) ASSERT_EQ(y[i], static_cast<float>(expected)) << at;
        else ASSERT_NEAR(y[i], expected, 1e-37 + 1e-6 * std::abs(expected) + cases[k].error) << at;
      }
      std::fill(y.begin(), y.end(), 99.f);
    });
  }
}

/// dy and arguments, including critical ones.
std::vector<std::vector<float>> arguments() {
  auto dy = random_values(2000, 1), x = random_values(2000, 2);
  std::vector<float> special{0,  -0.0f, 1,  -1,  2,   -2,   0.5f, 1e-7f, -1e-7f, 10,     -10,
                             30, -30,   88, -88, 104, -104, 1e4f, -1e4f, 1e30f,  -1e30f, -0.7f};
  for (size_t i = 0; i < special.size(); ++i) x[7 * i] = special[i];
  return {dy, x};
}

Case activation(const std::string& name, double parameter, std::function<double(double)> derivative, double error = 0) {
  return {name, 2,
          [=](OpBuilder& b, Loc l, ValueRange v) {
            llvm::SmallVector<mlir::NamedAttribute> fields{b.getNamedAttr("kind", b.getStringAttr(name))};
            for (const char* field : {"negative_slope", "alpha", "max_val"})
              fields.push_back(b.getNamedAttr(field, b.getF64FloatAttr(parameter)));
            fields.push_back(b.getNamedAttr("min_val", b.getF64FloatAttr(-1)));
            return scalar::activation_gradient(b, l, b.getDictionaryAttr(fields), v[0], v[1]);
          },
          [=](const std::vector<double>& v) { return v[0] * derivative(v[1]); }, error};
}

std::vector<Case> activations() {
  auto gelu_tanh = [](double x) {
    double factor = std::sqrt(2 / M_PI), t = std::tanh(factor * (x + 0.044715 * x * x * x));
    double second = x / 2 * (1 - t * t) * factor * (1 + 3 * 0.044715 * x * x);
    return (1 + t) / 2 + (std::abs(x) > 30 ? 0 : second);
  };
  return {
      activation("relu", 0, [](double y) { return y > 0 ? 1 : 0; }),
      activation("leaky_relu", 0.01, [](double y) { return y > 0 ? 1 : 0.01; }),
      activation(
          "elu", 1.5, [](double x) { return x > 0 ? 1 : 1.5 * std::exp(x); }, 1e-37),
      activation(
          "silu", 0, [](double x) { return sigmoid(x) + x * sigmoid(x) * sigmoid(-x); }, 2e-6),
      activation(
          "gelu", 0,
          [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }, 2e-6),
      activation("gelu_tanh", 0, gelu_tanh, 2e-6),
      activation("hardtanh", 2, [](double y) { return y > -1 && y < 2 ? 1 : 0; }),
  };
}

TEST(ActivationGradients, AgreeWithDoublePrecisionAndWithPyTorchAtKinks) { expect_agreement(activations(), arguments()); }

TEST(ActivationGradients, FromTheResultOfTanhAndSigmoid) {
  auto inputs = arguments();
  for (float& y : inputs[1]) y = std::tanh(y);
  expect_agreement({activation(
                        "tanh", 0, [](double y) { return 1 - y * y; }, 1e-6),
                    activation(
                        "sigmoid", 0, [](double y) { return y * (1 - y); }, 1e-6)},
                   inputs);
}

TEST(ActivationGradients, PassOnNaNAndAreFiniteAtInfinity) {
  LoadedKernels kernels;
  std::vector<Case> cases = activations();
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    Operand operand{DType::float32, {4}};
    auto use = kernels.module.add_elementwise(
        {c.name, {}, {operand, operand}, {4}, {DType::float32}, [&](OpBuilder& b, Loc l, ValueRange v) {
           return Values{c.emit(b, l, v)};
         }});
    ASSERT_TRUE(use);
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  std::vector<float> dy{nan, 2, 2, 2}, x{0.5f, infinity, -infinity, nan}, y(4);
  for (size_t k = 0; k < cases.size(); ++k)
    kernels.run(uses[k], {dy.data(), x.data(), y.data()}, {}, 1, [&] {
      const std::string& name = cases[k].name;
      EXPECT_TRUE(std::isnan(y[0])) << name;
      EXPECT_EQ(y[1], name == "hardtanh" ? 0 : 2) << name;
      EXPECT_NEAR(y[2], name == "leaky_relu" ? 0.02f : 0, 1e-18) << name;
      // PyTorch's comparisons take the gradient's side if the argument is NaN.
      if (name == "relu" || name == "hardtanh") EXPECT_EQ(y[3], 2) << name;
      else if (name == "leaky_relu") EXPECT_EQ(y[3], 0.02f);
      else EXPECT_TRUE(std::isnan(y[3])) << name;
    });
}

/// A function of ir/ElementFunctions.cpp.
auto value_of(const char* function, std::vector<double> numbers = {}) {
  return [=](OpBuilder& b, Loc l, ValueRange v) {
    llvm::SmallVector<scalar::Expression> x;
    for (mlir::Value value : v) x.push_back({&b, l, value});
    return ir::find_element_function(function)->of(x, numbers).value;
  };
}
/// Its derivative along the first operand.
auto slope_of(const char* function, std::vector<double> numbers = {}) {
  return [=](OpBuilder& b, Loc l, ValueRange v) {
    llvm::SmallVector<scalar::Expression> x;
    for (mlir::Value value : v) x.push_back({&b, l, value});
    return ir::find_element_function(function)->slope(0, x[0].number(1), x, x[0], numbers).value;
  };
}

double log_bounded(double x) { return std::max(std::log(x), -100.0); }

TEST(Losses, OfProbabilities) {
  auto a = random_values(1000, 3), t = random_values(1000, 4);
  for (float& x : a) x = float(sigmoid(x));
  for (float& x : t) x = float(sigmoid(x));
  a[0] = 0, t[0] = 0, a[1] = 1, t[1] = 1, a[2] = 0, t[2] = 1, a[3] = 1, t[3] = 0, a[4] = 1e-20f, t[4] = 1;
  expect_agreement(
      {{"bce", 2, value_of("binary_cross_entropy"),
        [](const std::vector<double>& v) { return -(v[1] * log_bounded(v[0]) + (1 - v[1]) * log_bounded(1 - v[0])); }, 1e-6},
       {"bce_derivative", 2, slope_of("binary_cross_entropy"),
        [](const std::vector<double>& v) {
          // 1 - a is an f32 difference.
          return (v[0] - v[1]) / std::max(v[0] * double(1 - float(v[0])), 1e-12);
        },
        1e-6}},
      {a, t});
}

TEST(Losses, OfNumbersAndLogits) {
  auto a = random_values(1000, 3), t = random_values(1000, 4), w = random_values(1000, 5, 0.3f, 2);
  for (float& x : t) x = float(sigmoid(x));
  a[0] = t[0] = 0.25f, a[1] = 90, a[2] = -90, a[3] = 1e4f, a[4] = -1e4f, a[5] = nan, a[6] = 0;
  auto weight = [](const std::vector<double>& v) { return 1 + (v[2] - 1) * v[1]; };
  auto softplus = [](double x) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0); };
  auto sign = [](double x) { return x > 0 ? 1 : x < 0 ? -1 : x; };
  using In = const std::vector<double>&;
  expect_agreement({{"mse", 2, value_of("mse_loss"), [](In v) { return (v[0] - v[1]) * (v[0] - v[1]); }},
                    {"mse_derivative", 2, slope_of("mse_loss"), [](In v) { return 2 * (v[0] - v[1]); }},
                    {"l1", 2, value_of("l1_loss"), [](In v) { return std::abs(v[0] - v[1]); }},
                    {"l1_derivative", 2, slope_of("l1_loss"), [=](In v) { return sign(v[0] - v[1]); }, 0},
                    {"bce_with_logits", 2, value_of("binary_cross_entropy_with_logits"),
                     [=](In v) { return (1 - v[1]) * v[0] + softplus(-v[0]); }, 3e-6},
                    {"bce_with_logits_weighted", 3, value_of("binary_cross_entropy_with_logits_of_pos_weight"),
                     [=](In v) { return (1 - v[1]) * v[0] + weight(v) * softplus(-v[0]); }, 6e-6},
                    {"bce_with_logits_derivative", 2, slope_of("binary_cross_entropy_with_logits"),
                     [](In v) { return sigmoid(v[0]) - v[1]; }},
                    {"bce_with_logits_weighted_derivative", 3, slope_of("binary_cross_entropy_with_logits_of_pos_weight"),
                     [=](In v) { return 1 - v[1] - weight(v) * sigmoid(-v[0]); }}},
                   {a, t, w});
}

TEST(Optimisers, AgreeWithPyTorchsFormulas) {
  // p, g, a state of any sign, one that can't be negative, another one.
  auto p = random_values(1000, 1), g = random_values(1000, 2), m = random_values(1000, 3), v = random_values(1000, 4),
       u = random_values(1000, 5);
  for (auto* square : {&v, &u})
    for (float& x : *square) x = x * x + 30;
  using In = const std::vector<double>&;
  // lr and corrections as f32 constants, as they arrive.
  auto lr = [](OpBuilder& b, Loc l) { return scalar::constant(b, l, 0.125); };
  auto correction = [](OpBuilder& b, Loc l, double c) { return scalar::constant(b, l, c); };
  expect_agreement(
      {{"clip", 4, [](OpBuilder& b, Loc l, ValueRange x) { return scalar::clip_factor(b, l, x[3], 6); },
        [](In x) { return std::min(1.0, 6 / (std::sqrt(x[3]) + 1e-6)); }},
       {"penalised", 2, [](OpBuilder& b, Loc l, ValueRange x) { return scalar::penalised_gradient(b, l, x[1], x[0], 0.01); },
        [](In x) { return x[1] + 0.01 * x[0]; }},
       {"momentum", 3, [](OpBuilder& b, Loc l, ValueRange x) { return scalar::sgd_momentum(b, l, x[2], x[1], {}, 0.9, 0.25); },
        [](In x) { return 0.9 * x[2] + 0.75 * x[1]; }},
       {"nesterov", 3, [](OpBuilder& b, Loc l, ValueRange x) { return scalar::sgd_nesterov(b, l, x[1], x[2], 0.9); },
        [](In x) { return x[1] + 0.9 * x[2]; }},
       {"descend", 2, [=](OpBuilder& b, Loc l, ValueRange x) { return scalar::descend(b, l, x[0], x[1], lr(b, l)); },
        [](In x) { return x[0] - 0.125 * x[1]; }},
       {"average", 3, [](OpBuilder& b, Loc l, ValueRange x) { return scalar::running_average(b, l, x[2], x[1], 0.9); },
        [](In x) { return 0.9 * x[2] + 0.1 * x[1]; }},
       {"average_of_little_memory", 3,
        [](OpBuilder& b, Loc l, ValueRange x) { return scalar::running_average(b, l, x[2], x[1], 0.3); },
        [](In x) { return 0.3 * x[2] + 0.7 * x[1]; }},
       {"square", 4, [](OpBuilder& b, Loc l, ValueRange x) { return scalar::running_square(b, l, x[3], x[1], 0.99); },
        [](In x) { return 0.99 * x[3] + 0.01 * x[1] * x[1]; }, 1e-5},
       {"maximum", 5, [](OpBuilder& b, Loc l, ValueRange x) { return scalar::running_maximum(b, l, x[3], x[4]); },
        [](In x) { return std::max(x[3], x[4]); }, 0},
       {"decay", 1, [=](OpBuilder& b, Loc l, ValueRange x) { return scalar::decoupled_decay(b, l, x[0], lr(b, l), 0.01); },
        [](In x) { return x[0] * (1 - 0.125 * 0.01); }},
       {"adam", 4,
        [=](OpBuilder& b, Loc l, ValueRange x) {
          return scalar::adam_update(b, l, x[0], x[2], x[3], lr(b, l), correction(b, l, 0.1), correction(b, l, 0.001), 1e-8);
        },
        [](In x) { return x[0] - 0.125 / 0.1 * x[2] / (std::sqrt(x[3]) / std::sqrt(0.001) + 1e-8); }},
       {"rmsprop", 4, [](OpBuilder& b, Loc l, ValueRange x) { return scalar::rmsprop_direction(b, l, x[1], x[3], {}, 0.5); },
        [](In x) { return x[1] / (std::sqrt(x[3]) + 0.5); }},
       {"rmsprop_centered", 4,
        [](OpBuilder& b, Loc l, ValueRange x) {
          mlir::Value quarter = b.create<mlir::arith::MulFOp>(l, x[2], scalar::constant(b, l, 0.25));
          return scalar::rmsprop_direction(b, l, x[1], x[3], quarter, 0.5);
        },
        [](In x) { return x[1] / (std::sqrt(x[3] - x[2] * x[2] / 16) + 0.5); }},
       {"rmsprop_momentum", 3,
        [](OpBuilder& b, Loc l, ValueRange x) { return scalar::rmsprop_momentum(b, l, x[2], x[1], 0.9); },
        [](In x) { return 0.9 * x[2] + x[1]; }}},
      {p, g, m, v, u});
}

TEST(Optimisers, TheFirstStepsMomentumIsTheGradientItself) {
  LoadedKernels kernels;
  Operand vector{DType::float32, {batch()}};
  auto use = kernels.module.add_elementwise(
      {"momentum",
       {},
       {vector, vector, {DType::int64, {}}},
       {batch()},
       {DType::float32},
       [](OpBuilder& b, Loc l, ValueRange v) { return Values{scalar::sgd_momentum(b, l, v[0], v[1], v[2], 0.5, 0.5)}; }});
  ASSERT_TRUE(use) << to_string(use.error());
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  std::vector<float> buffer(20, 8), g(20, 4), y(20);
  for (int64_t step : {1, 2})
    kernels.run(*use, {buffer.data(), g.data(), &step, y.data()}, {{"batch", 20}}, 2, [&] {
      for (float value : y) ASSERT_EQ(value, step == 1 ? 4 : 6);
    });
}

TEST(Random, PhiloxIsTheRuntimes) {
  LoadedKernels kernels;
  constexpr uint32_t stream = 0xDEADBEEF;
  Operand scalar_operand{DType::int64, {}}, vector{DType::int64, {batch()}};
  auto use = kernels.module.add_elementwise({"philox",
                                             {},
                                             {scalar_operand, vector, scalar_operand},
                                             {batch()},
                                             {DType::int32, DType::float32},
                                             [&](OpBuilder& b, Loc l, ValueRange v) {
                                               return Values{scalar::philox_word(b, l, v[0], v[1], v[2], stream),
                                                             scalar::philox_uniform(b, l, v[0], v[1], v[2], stream)};
                                             }});
  ASSERT_TRUE(use) << to_string(use.error());
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  std::vector<int64_t> position(50000);
  for (size_t i = 0; i < position.size(); ++i) position[i] = int64_t(i) + (int64_t(i % 3) << 33);
  std::vector<int32_t> words(position.size());
  std::vector<float> uniform(position.size());
  for (int64_t seed : {int64_t{0}, int64_t{-7}, int64_t{0x123456789ABCDEF}})
    for (int64_t step : {int64_t{1}, int64_t{0x1FFFFFFFF}})
      kernels.run(*use, {&seed, position.data(), &step, words.data(), uniform.data()}, {{"batch", int64_t(position.size())}}, 3,
                  [&] {
                    double sum = 0;
                    for (size_t i = 0; i < position.size(); ++i) {
                      uint64_t p = uint64_t(position[i]);
                      uint32_t word = philox({uint32_t(p), uint32_t(p >> 32), uint32_t(step), stream}, uint64_t(seed))[0];
                      ASSERT_EQ(uint32_t(words[i]), word);
                      ASSERT_EQ(uniform[i], float(word >> 8) * 0x1p-24f);
                      ASSERT_LT(uniform[i], 1);
                      sum += uniform[i];
                    }
                    ASSERT_NEAR(sum / double(position.size()), 0.5, 0.01);
                  });
}

}  // namespace
}  // namespace sheaf::kernels
