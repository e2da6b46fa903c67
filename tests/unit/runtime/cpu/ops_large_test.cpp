// Sizes at which oneDNN uses other implementations than for small ones.
#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace sheaf::test {
namespace {

Tensor normal(std::vector<int64_t> dims, float scale, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution(0, scale);
  Tensor result(std::move(dims));
  for (float& value : result.data) value = distribution(generator);
  return result;
}

void expect_reference(StepCase c) {
  const std::vector<Tensor> expected = reference(c);
  c.outputs.clear();
  for (const Tensor& tensor : expected) c.outputs.push_back(tensor.dims);
  for (int threads : {1, 2}) {
    c.threads = threads;
    auto run = run_step(c);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_LT(relative_error(run->outputs[i], expected[i]), 1e-5)
          << to_string(c.op) << " output " << i << " by " << run->implementation << ", " << threads << " threads";
  }
}

StepCase recurrent(Op op, int64_t steps, int64_t rows, int64_t hidden) {
  const int64_t gates = op == Op::lstm ? 4 : 3;
  StepCase c;
  c.op = op;
  c.attributes = {{"hidden_size", hidden}};
  const float scale = 1 / std::sqrt(float(hidden));
  c.operands = {{"x", normal({steps, rows, hidden}, 1, 1), false},
                {"weight_ih_l0", normal({gates * hidden, hidden}, scale, 2), true},
                {"weight_hh_l0", normal({gates * hidden, hidden}, scale, 3), true},
                {"bias_ih_l0", normal({gates * hidden}, scale, 4), true},
                {"bias_hh_l0", normal({gates * hidden}, scale, 5), true}};
  return c;
}

TEST(LargeSteps, lstm_of_a_word_language_model) { expect_reference(recurrent(Op::lstm, 12, 20, 200)); }
TEST(LargeSteps, gru_of_a_word_language_model) { expect_reference(recurrent(Op::gru, 35, 20, 200)); }

StepCase conv(int64_t images, int64_t in, int64_t out, int64_t size, int64_t stride) {
  const int64_t y = (size - 1) / stride + 1;
  StepCase c;
  c.op = Op::conv;
  c.attributes = {{"stride", {stride, stride}}, {"padding_begin", {1, 1}}, {"padding_end", {1, 1}}};
  c.operands = {{"x", normal({images, in, size, size}, 1, 1), false},
                {"weight", normal({out, in, 3, 3}, 1 / std::sqrt(9.f * float(in)), 2), true},
                {"bias", normal({out}, 0.1f, 3), true}};
  c.outputs = {{images, out, y, y}};
  return c;
}

TEST(LargeSteps, small_images_are_convolved_as_products_over_the_batch) {
  StepCase c = conv(33, 128, 144, 4, 1);
  c.threads = 1;
  c.candidate = "pixels";
  const std::string implementation = run_step(c)->implementation;
  if (has_avx512()) EXPECT_THAT(implementation, testing::HasSubstr("pixels"));
  expect_reference(c);
  c.attributes["activation"] = {{"kind", "relu"}};
  c.operands.push_back({"residual", normal(c.outputs[0], 1, 4), false});
  expect_reference(c);
  c.threads = 2;
  expect_reference(c);
  c.alias_residual = true;
  c.operands.erase(c.operands.begin() + 2);  // the bias
  expect_reference(c);
}

TEST(LargeSteps, small_images_with_stride_and_uneven_padding) {
  StepCase c = conv(16, 256, 256, 7, 2);
  c.attributes["activation"] = {{"kind", "gelu"}};
  expect_reference(c);
  c = conv(16, 256, 256, 3, 1);
  c.attributes["padding_begin"] = {0, 2};
  c.attributes["padding_end"] = {2, 0};
  expect_reference(c);
}

TEST(LargeSteps, fast_numerics_may_use_winograd) {
  for (bool residual : {false, true}) {
    StepCase c = conv(16, 64, 64, 14, 1);
    c.attributes["activation"] = {{"kind", "relu"}};
    if (residual) c.operands.push_back({"residual", normal(c.outputs[0], 1, 4), false});
    const Tensor expected = reference(c)[0];
    c.fast = true;
    auto run = run_step(c);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    EXPECT_LT(relative_error(run->outputs[0], expected), 1e-4) << run->implementation;
    if (has_avx512()) EXPECT_THAT(run->implementation, testing::HasSubstr("wino"));
    c.fast = false;
    EXPECT_THAT(run_step(c)->implementation, testing::Not(testing::HasSubstr("wino")));
  }
}

TEST(LargeSteps, fast_numerics_of_other_convolutions) {
  for (auto [in, out, stride] : {std::array<int64_t, 3>{1, 64, 1}, {3, 32, 2}, {64, 128, 2}, {20, 24, 1}}) {
    StepCase c = conv(2, in, out, 9, stride);
    const Tensor expected = reference(c)[0];
    c.fast = true;
    auto run = run_step(c);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    EXPECT_LT(relative_error(run->outputs[0], expected), 1e-4) << run->implementation;
  }
}

TEST(LargeSteps, a_pixel_grows_into_an_image) {
  StepCase c;
  c.op = Op::conv_transpose;
  c.operands = {{"x", normal({5, 100, 1, 1}, 1, 1), false},
                {"weight", normal({100, 64, 4, 4}, 0.1f, 2), true},
                {"bias", normal({64}, 1, 3), true}};
  expect_reference(c);
  c.attributes["activation"] = {{"kind", "relu"}};
  expect_reference(c);
  c.operands.pop_back();
  c.operands[1].constant = false;
  expect_reference(c);
}

TEST(LargeSteps, linear_layers_of_usual_sizes) {
  for (int64_t rows : {1, 33, 128}) {
    StepCase c;
    c.op = Op::linear;
    c.operands = {{"x", normal({rows, 512}, 1, 1), false},
                  {"weight", normal({300, 512}, 0.05f, 2), true},
                  {"bias", normal({300}, 1, 3), true},
                  {"residual", normal({rows, 300}, 1, 4), false}};
    expect_reference(c);
    c.attributes["activation"] = {{"kind", "gelu_tanh"}};
    expect_reference(c);
  }
}

/// Activations over a wide range of inputs, by a primitive and by the loop used for small products.
TEST(Activations, agree_with_their_definitions_far_from_zero) {
  const std::vector<Json> activations = {{{"kind", "relu"}},      {{"kind", "leaky_relu"}}, {{"kind", "elu"}},
                                         {{"kind", "silu"}},      {{"kind", "gelu"}},       {{"kind", "tanh"}},
                                         {{"kind", "gelu_tanh"}}, {{"kind", "sigmoid"}},    {{"kind", "hardtanh"}}};
  for (const Json& activation : activations) {
    for (int64_t rows : {2, 64}) {
      StepCase c;
      c.op = Op::linear;
      Tensor x({rows, 1}), weight({1000, 1});
      for (int64_t i = 0; i < rows; ++i) x.data[i] = i % 2 ? 1.f : -1.f;
      for (int64_t i = 0; i < 1000; ++i) weight.data[i] = std::pow(10.f, float(i) / 100 - 8);  // up to 100
      c.operands = {{"x", x, false}, {"weight", weight, true}};
      c.attributes["activation"] = activation;
      SCOPED_TRACE(activation.dump());
      expect_reference(c);
    }
  }
}

}  // namespace
}  // namespace sheaf::test
