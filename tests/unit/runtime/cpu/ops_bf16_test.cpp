// Library operations on bf16 values compared with the same on f32 values that bf16 represents exactly: products of such values
// are exact in f32, so the only difference is the rounding of a result.
#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/draw.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sheaf::test {
namespace {

constexpr double sum_rounding = 1e-5;  ///< of f32 sums in another order

class Bf16 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_bf16()) GTEST_SKIP() << "this CPU has no bf16";
  }

  /// Runs `step` in both precisions on rounded operands.
  void compare(StepCase step, double tolerance = result_rounding) {
    for (Operand& operand : step.operands) operand.value = rounded_to_bf16(std::move(operand.value));
    for (int threads : {1, 2}) {
      step.threads = threads;
      step.bf16 = false;
      const auto wide = run_step(step);
      step.bf16 = true;
      const auto narrow = run_step(step);
      ASSERT_TRUE(bool(wide)) << to_string(wide.error());
      ASSERT_TRUE(bool(narrow)) << to_string(narrow.error());
      for (size_t i = 0; i < wide->outputs.size(); ++i)
        EXPECT_LE(relative_error(narrow->outputs[i], wide->outputs[i]), tolerance)
            << to_string(step.op) << ", output " << i << ", " << threads << " threads, " << narrow->implementation;
    }
  }

  Draw draw{7};
};

Json window(Dims stride, Dims begin, Dims end, Dims dilation, int64_t groups = 1) {
  return {{"stride", stride}, {"padding_begin", begin}, {"padding_end", end}, {"dilation", dilation}, {"groups", groups}};
}

TEST_F(Bf16, linear_with_bias_residual_and_activation) {
  for (bool constant : {false, true})
    compare({Op::linear,
             {{"x", draw.tensor({6, 37})},
              {"weight", draw.tensor({19, 37}), constant},
              {"bias", draw.tensor({19})},
              {"residual", draw.tensor({6, 19})}},
             {{"activation", {{"kind", "gelu"}}}},
             {{6, 19}}});
  compare({Op::linear, {{"x", draw.tensor({2, 3, 5})}, {"weight", draw.tensor({2, 5})}}, Json::object(), {{2, 3, 2}}});
}

TEST_F(Bf16, gradients_of_linear_are_f32_where_they_are_sums) {
  compare({Op::linear_backward_data,
           {{"dy", draw.tensor({33, 19})}, {"weight", draw.tensor({19, 37})}},
           Json::object(),
           {{33, 37}}});
  compare({Op::linear_backward_weight,
           {{"x", draw.tensor({33, 37})}, {"dy", draw.tensor({33, 19})}},
           {{"bias", true}},
           {{19, 37}, {19}}},
          sum_rounding);
}

TEST_F(Bf16, matmul_with_transposed_and_broadcast_operands) {
  compare({Op::matmul, {{"a", draw.tensor({3, 5, 16})}, {"b", draw.tensor({3, 16, 7})}}, Json::object(), {{3, 5, 7}}});
  compare({Op::matmul,
           {{"a", draw.tensor({3, 16, 5})}, {"b", draw.tensor({7, 16})}},
           {{"transpose_a", true}, {"transpose_b", true}},
           {{3, 5, 7}}});
}

TEST_F(Bf16, convolutions_and_their_gradients) {
  struct Case {
    Dims x, weight, y;
    Json attributes;
  };
  const std::vector<Case> cases = {
      {{2, 3, 9, 8}, {5, 3, 3, 3}, {2, 5, 9, 8}, window({1, 1}, {1, 1}, {1, 1}, {1, 1})},
      {{2, 32, 14, 14}, {64, 32, 3, 3}, {2, 64, 7, 7}, window({2, 2}, {1, 1}, {1, 1}, {1, 1})},
      {{3, 64, 4, 4}, {64, 64, 3, 3}, {3, 64, 4, 4}, window({1, 1}, {1, 1}, {1, 1}, {1, 1})},
      {{2, 32, 7, 7}, {48, 32, 1, 1}, {2, 48, 4, 4}, window({2, 2}, {0, 0}, {0, 0}, {1, 1})},
      {{2, 8, 6, 6}, {12, 4, 3, 3}, {2, 12, 4, 4}, window({1, 1}, {1, 1}, {1, 1}, {2, 2}, 2)},
      {{2, 4, 11}, {6, 4, 3}, {2, 6, 5}, window({2}, {0}, {0}, {1})},
  };
  for (const Case& c : cases) {
    const Tensor x = draw.tensor(c.x), weight = draw.tensor(c.weight, 0.1), y = draw.tensor(c.y);
    Json forward = c.attributes, data = c.attributes, kernel = c.attributes;
    forward["activation"] = {{"kind", "relu"}};
    data["size"] = Dims(c.x.begin() + 2, c.x.end());
    kernel["kernel_size"] = Dims(c.weight.begin() + 2, c.weight.end());
    kernel["bias"] = true;
    compare({Op::conv, {{"x", x}, {"weight", weight}, {"bias", draw.tensor({c.y[1]})}, {"residual", y}}, forward, {c.y}});
    compare({Op::conv_backward_data, {{"dy", y}, {"weight", weight}}, data, {c.x}});
    compare({Op::conv_backward_weight, {{"x", x}, {"dy", y}}, kernel, {c.weight, {c.y[1]}}}, sum_rounding);
  }
}

TEST_F(Bf16, transposed_convolutions) {
  const Json attributes = {
      {"stride", {2, 2}}, {"padding", {1, 1}}, {"output_padding", {1, 1}}, {"dilation", {1, 1}}, {"groups", 1}};
  compare({Op::conv_transpose,
           {{"x", draw.tensor({2, 6, 5, 5})}, {"weight", draw.tensor({6, 4, 3, 3}, 0.2)}, {"bias", draw.tensor({4})}},
           attributes,
           {{2, 4, 10, 10}}});
  for (bool constant : {false, true})
    compare({Op::conv_transpose,
             {{"x", draw.tensor({33, 32, 5, 5})},
              {"weight", draw.tensor({32, 48, 3, 3}, 0.2), constant},
              {"bias", draw.tensor({48})}},
             attributes,
             {{33, 48, 10, 10}}});
  const Json pixel = {{"stride", {1, 1}}, {"padding", {0, 0}}, {"output_padding", {0, 0}}, {"dilation", {1, 1}}, {"groups", 1}};
  compare({Op::conv_transpose,
           {{"x", draw.tensor({3, 6, 1, 1})}, {"weight", draw.tensor({6, 4, 4, 4}, 0.2)}, {"bias", draw.tensor({4})}},
           pixel,
           {{3, 4, 4, 4}}});
}

TEST_F(Bf16, pooling_and_its_gradients) {
  const Json max = {
      {"kernel_size", {3, 3}}, {"stride", {2, 2}}, {"padding", {1, 1}}, {"dilation", {1, 1}}, {"ceil_mode", false}};
  compare({Op::max_pool, {{"x", draw.tensor({2, 5, 9, 9})}}, max, {{2, 5, 5, 5}}}, 0);
  Json average = {{"kernel_size", {2, 2}}, {"stride", {2, 2}},           {"padding", {0, 0}},
                  {"ceil_mode", true},     {"count_include_pad", false}, {"divisor_override", 0}};
  compare({Op::avg_pool, {{"x", draw.tensor({2, 16, 9, 9})}}, average, {{2, 16, 5, 5}}});
  average["divisor_override"] = 3;
  average["ceil_mode"] = false;
  compare({Op::avg_pool, {{"x", draw.tensor({2, 16, 8, 8})}}, average, {{2, 16, 4, 4}}});
  average["size"] = {8, 8};
  compare({Op::avg_pool_backward, {{"dy", draw.tensor({2, 16, 4, 4})}}, average, {{2, 16, 8, 8}}});
  // Windows of several sizes: loops of our own.
  compare({Op::adaptive_avg_pool, {{"x", draw.tensor({2, 3, 7, 5})}}, Json::object(), {{2, 3, 3, 4}}});
  compare({Op::adaptive_avg_pool_backward, {{"dy", draw.tensor({2, 3, 3, 4})}}, {{"size", {7, 5}}}, {{2, 3, 7, 5}}});
  compare({Op::adaptive_avg_pool_backward, {{"dy", draw.tensor({2, 32, 1, 1})}}, {{"size", {4, 4}}}, {{2, 32, 4, 4}}});
}

TEST_F(Bf16, partial_sums) {
  compare({Op::reduce,
           {{"x0", draw.tensor({5000})}, {"x1", draw.tensor({5000})}, {"x2", draw.tensor({5000})}},
           Json::object(),
           {{5000}}},
          2 * result_rounding);
}

TEST_F(Bf16, a_mixture_and_a_layer_that_has_none_are_refused) {
  StepCase recurrent{Op::lstm, {{"x", draw.tensor({2, 1, 3})}}, {{"hidden_size", 2}}, {{2, 1, 2}}};
  recurrent.bf16 = true;
  EXPECT_NE(refusal(recurrent).find("float32 alone"), std::string::npos) << refusal(recurrent);
  // A bias is f32 to the runner, which makes it a weight of the wrong type here.
  StepCase mixture{Op::reduce, {{"x0", draw.tensor({5})}, {"bias", draw.tensor({5})}}, Json::object(), {{5}}};
  mixture.bf16 = true;
  EXPECT_FALSE(refusal(mixture).empty());
}

}  // namespace
}  // namespace sheaf::test
