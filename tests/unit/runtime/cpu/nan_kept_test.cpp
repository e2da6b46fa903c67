// A NaN that arises within an operation, from finite numbers, is kept like one in its operands.
#include "step_runner.h"

#include "runtime/plan/op_list.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sheaf::test {
namespace {

const Json kRelu = {{"activation", {{"kind", "relu"}}}};

/// Rows of x whose products with a weight of ones are +inf, −inf and NaN (inf − inf), and a number.
StepCase overflowing(int threads) {
  constexpr int64_t kIn = 64, kOut = 96;
  Tensor x({4, kIn}), weight({kOut, kIn}), bias({kOut});
  const float large = 3e38F;
  for (int64_t i = 0; i < kIn; ++i) {
    x.data[size_t(i)] = large;
    x.data[size_t(kIn + i)] = -large;
    x.data[size_t(2 * kIn + i)] = 1;
    x.data[size_t(3 * kIn + i)] = -1;
  }
  std::fill(weight.data.begin(), weight.data.end(), 2.F);
  std::fill(bias.data.begin(), bias.data.begin() + kOut / 2, -INFINITY);
  return {Op::linear, {{"x", x}, {"weight", weight, true}, {"bias", bias, true}}, kRelu, {{4, kOut}}, threads};
}

TEST(NanKept, InfinityLessInfinityIsNotZeroBehindARelu) {
  for (const int threads : {1, 2}) {
    const auto run = run_step(overflowing(threads));
    ASSERT_TRUE(run) << to_string(run.error());
    const auto& y = run->outputs[0].data;
    for (size_t o = 0; o < 96; ++o) {
      const bool minus = o < 48;  // the bias
      EXPECT_EQ(std::isnan(y[o]), minus) << o;
      if (!minus) EXPECT_EQ(y[o], INFINITY);
      EXPECT_EQ(y[96 + o], 0);
      EXPECT_EQ(y[2 * 96 + o], minus ? 0 : 128);
      EXPECT_EQ(y[3 * 96 + o], 0);
    }
  }
}

TEST(NanKept, WhereItsSumIsMadeInTheResidualsPlace) {
  for (const bool in_residual : {false, true}) {
    for (const bool alias : {false, true}) {
      StepCase step = overflowing(2);
      Tensor residual({4, 96});
      residual.data[2 * 96 + 50] = in_residual ? NAN : 1.F;
      residual.data[96 + 50] = in_residual ? INFINITY : 0.F;  // added to −inf
      step.operands.push_back({"residual", residual});
      step.alias_residual = alias;
      const auto run = run_step(step);
      ASSERT_TRUE(run) << to_string(run.error());
      const auto& y = run->outputs[0].data;
      for (size_t o = 0; o < 96; ++o) EXPECT_EQ(std::isnan(y[o]), o < 48) << o;
      EXPECT_EQ(std::isnan(y[96 + 50]), in_residual);
      EXPECT_EQ(std::isnan(y[2 * 96 + 50]), in_residual);
      EXPECT_EQ(y[2 * 96 + 51], 128);
      EXPECT_EQ(y[3 * 96 + 51], 0);
    }
  }
}

/// Without its activation, which only the library computes, the operation could be computed in other ways, with other layouts.
TEST(NanKept, InATransposedConvolutionWithAnyActivation) {
  constexpr int64_t kRows = 40, kChannels = 32, kSize = 3;
  for (const char* kind : {"relu", "relu6", "silu", "tanh"}) {
    for (const bool fast : {false, true}) {
      SCOPED_TRACE(std::string(kind) + (fast ? ", fast" : ""));
      Tensor x({kRows, kChannels, kSize, kSize}), weight({kChannels, kChannels, 3, 3});
      std::fill(x.data.begin(), x.data.end(), 1.F);
      std::fill(weight.data.begin(), weight.data.end(), 0.01F);
      x.data[size_t(7 * kChannels * kSize * kSize)] = NAN;  // a corner of row 7
      Json activation = {{"kind", kind}};
      if (std::string(kind) == "relu6") activation = {{"kind", "hardtanh"}, {"min", 0.0}, {"max", 6.0}};
      const Json attributes = {{"stride", {1, 1}},   {"padding", {1, 1}}, {"output_padding", {0, 0}},
                               {"dilation", {1, 1}}, {"groups", 1},       {"activation", activation}};
      StepCase step{Op::conv_transpose, {{"x", x}, {"weight", weight, true}},
                    attributes,         {{kRows, kChannels, kSize, kSize}},
                    /*threads=*/2,      fast};
      const auto run = run_step(step);
      ASSERT_TRUE(run) << to_string(run.error());
      const auto& y = run->outputs[0].data;
      for (size_t i = 0; i < y.size(); ++i) {
        const auto place = int64_t(i), row = place / (kChannels * kSize * kSize), h = place / kSize % kSize, w = place % kSize;
        // Winograd's tile holds the whole image.
        const bool seen = row == 7 && (run->candidate == "winograd" || run->candidate == "winograd_split" || (h < 2 && w < 2));
        ASSERT_EQ(std::isnan(y[i]), seen) << "row " << row << ", " << h << ", " << w << ", by " << run->implementation;
      }
    }
  }
}

/// Of one step and of many rows, oneDNN would pack the weights, and can't unpack them.
TEST(NanKept, InARecurrentNetworkWithReluOfAnySize) {
  constexpr int64_t kFeatures = 8;
  for (const int64_t hidden : {4, 16}) {
    for (const auto& [steps, rows] : {std::pair(1, 2), std::pair(1, 40), std::pair(3, 2), std::pair(3, 40)}) {
      for (const bool state : {false, true}) {
        SCOPED_TRACE(std::to_string(hidden) + " units, " + std::to_string(steps) + " steps, " + std::to_string(rows) + " rows");
        const auto constant = [](std::vector<int64_t> dims, float value) {
          Tensor tensor(std::move(dims));
          std::fill(tensor.data.begin(), tensor.data.end(), value);
          return tensor;
        };
        Tensor x = constant({steps, rows, kFeatures}, 1);
        x.data[size_t((steps - 1) * rows * kFeatures)] = NAN;  // the last step of row 0
        StepCase step{Op::rnn,
                      {{"x", x},
                       {"weight_ih_l0", constant({hidden, kFeatures}, 0.125F), true},
                       {"weight_hh_l0", constant({hidden, hidden}, 0.0625F), true},
                       {"bias_ih_l0", constant({hidden}, 0.25F), true},
                       {"bias_hh_l0", constant({hidden}, 0.25F), true}},
                      {{"hidden_size", hidden},
                       {"num_layers", 1},
                       {"bidirectional", false},
                       {"batch_first", false},
                       {"bias", true},
                       {"relu", true}},
                      {{steps, rows, hidden}, {1, rows, hidden}}};
        if (state) step.operands.push_back({"h0", constant({1, rows, hidden}, 0)});
        const auto run = run_step(step);
        ASSERT_TRUE(run) << to_string(run.error());
        const auto &y = run->outputs[0].data, &h = run->outputs[1].data;
        for (size_t i = 0; i < y.size(); ++i) {
          const auto place = int64_t(i) / hidden;
          EXPECT_EQ(std::isnan(y[i]), place == (steps - 1) * rows);
          if (place < rows && !std::isnan(y[i])) EXPECT_EQ(y[i], 1.5F);
        }
        for (size_t i = 0; i < h.size(); ++i) EXPECT_EQ(std::isnan(h[i]), int64_t(i) < hidden);
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::test
