// The rules of the operations of a training step: operands, attributes, and shapes.
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/check/plan_problem.h"
#include "tests/unit/runtime/check/plan_samples.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

using samples::batch;
using samples::kConv;
using samples::Operands;
using samples::Shape;

/// A plan of one step; values of shape [1] that are called `workspace`, or are output `workspace`, are
/// workspaces.
Plan backward_step(Op op, Operands operands, std::vector<Shape> outputs, Json attributes = Json::object(), int workspace = -1) {
  const size_t inputs = operands.size();
  Plan plan = samples::one_step(op, operands, outputs, std::move(attributes));
  for (size_t i = 0; i < inputs; ++i)
    if (operands[i].first == "workspace") plan.infer.values[i].dtype = DType::uint8;
  if (workspace >= 0) plan.infer.values[inputs + size_t(workspace)].dtype = DType::uint8;
  return plan;
}

Json with_attribute(Json attributes, const char* name, Json value) {
  attributes[name] = std::move(value);
  return attributes;
}

TEST(PlanBackward, ConvolutionByItsInput) {
  const Operands operands = {{"dy", {batch(), 6, 5, 4}}, {"weight", {6, 2, 3, 3}}};
  const Shape dx = {batch(), 4, 9, 8};
  const Json attributes = with_attribute(kConv, "size", {9, 8});
  const Op op = Op::conv_backward_data;
  EXPECT_EQ(problem(backward_step(op, operands, {dx}, attributes)), "");
  EXPECT_EQ(problem(backward_step(op, operands, {{batch(), 4, 10, 8}}, with_attribute(attributes, "size", {10, 8}))), "")
      << "a row that the stride leaves out";
  refuse_step(backward_step(op, operands, {dx}, kConv), "'size' is missing");
  refuse_step(backward_step(op, operands, {dx}, with_attribute(attributes, "size", {9})), "'size' must be a list of 2");
  refuse_step(backward_step(op, operands, {dx}, with_attribute(attributes, "size", {11, 8})),
              "a gradient of shape [batch, 6, 6, 4]");
  refuse_step(backward_step(op, operands, {dx}, with_attribute(attributes, "bias", false)), "no attribute 'bias'");
  refuse_step(backward_step(op, operands, {dx}, with_attribute(attributes, "groups", 4)), "divisible by 4 groups");
  refuse_step(backward_step(op, operands, {dx}, with_attribute(attributes, "dilation", {1, 9})), "finds no place");
  refuse_step(backward_step(op, operands, {{batch(), 2, 9, 8}}, attributes), "expected [batch, 4, 9, 8]");
  refuse_step(backward_step(op, {operands[1], operands[0]}, {dx}, attributes), "'dy' must be the first operand");
}

TEST(PlanBackward, ConvolutionByItsWeight) {
  const Operands operands = {{"x", {batch(), 4, 9, 8}}, {"dy", {batch(), 6, 5, 4}}};
  const Shape dweight = {6, 2, 3, 3};
  const Json attributes = with_attribute(with_attribute(kConv, "kernel_size", {3, 3}), "bias", true);
  Op op = Op::conv_backward_weight;
  EXPECT_EQ(problem(backward_step(op, operands, {dweight, {6}}, attributes)), "");
  EXPECT_EQ(problem(backward_step(op, operands, {dweight}, with_attribute(attributes, "bias", false))), "");
  refuse_step(backward_step(op, operands, {dweight}, attributes), "has 2 outputs, not 1");
  refuse_step(backward_step(op, operands, {dweight, {6}}, with_attribute(attributes, "bias", 1)),
              "'bias' must be true or false");
  refuse_step(backward_step(op, operands, {dweight, {4}}, attributes), "expected [6]");
  refuse_step(backward_step(op, operands, {{6, 4, 3, 3}, {6}}, attributes), "expected [6, 2, 3, 3]");
  refuse_step(backward_step(op, operands, {dweight, {6}}, with_attribute(attributes, "kernel_size", {3, 2})),
              "a gradient of shape [batch, 6, 5, 6]");
  refuse_step(backward_step(op, {{"x", {batch(), 4, 9}}, operands[1]}, {dweight, {6}}, attributes),
              "expects an input of 4 dimensions");
}

TEST(PlanBackward, Linear) {
  const Shape x = {batch(), 7, 5}, dy = {batch(), 7, 2};
  EXPECT_EQ(problem(backward_step(Op::linear_backward_data, {{"dy", dy}, {"weight", {2, 5}}}, {x})), "");
  refuse_step(backward_step(Op::linear_backward_data, {{"dy", dy}, {"weight", {3, 5}}}, {x}),
              "expects a gradient of 3 features");
  refuse_step(backward_step(Op::linear_backward_data, {{"dy", dy}, {"weight", {2, 5}}}, {dy}), "expected [batch, 7, 5]");
  const Json bias = {{"bias", true}}, none = {{"bias", false}};
  EXPECT_EQ(problem(backward_step(Op::linear_backward_weight, {{"x", x}, {"dy", dy}}, {{2, 5}, {2}}, bias)), "");
  EXPECT_EQ(problem(backward_step(Op::linear_backward_weight, {{"x", x}, {"dy", dy}}, {{2, 5}}, none)), "");
  refuse_step(backward_step(Op::linear_backward_weight, {{"x", x}, {"dy", dy}}, {{2, 5}}), "'bias'");
  refuse_step(backward_step(Op::linear_backward_weight, {{"x", x}, {"dy", {batch(), 6, 2}}}, {{2, 5}}, none),
              "a gradient of shape [batch, 7, 2]");
  refuse_step(backward_step(Op::linear_backward_weight, {{"x", x}, {"dy", dy}}, {{5, 2}}, none), "expected [2, 5]");
}

TEST(PlanBackward, MatmulOfTransposedMatrices) {
  const Json a = {{"transpose_a", true}}, b = {{"transpose_b", true}};
  EXPECT_EQ(problem(backward_step(Op::matmul, {{"a", {batch(), 3, 4}}, {"b", {3, 5}}}, {{batch(), 4, 5}}, a)), "");
  EXPECT_EQ(problem(backward_step(Op::matmul, {{"a", {4, 3}}, {"b", {batch(), 5, 3}}}, {{batch(), 4, 5}}, b)), "");
  EXPECT_EQ(problem(backward_step(Op::matmul, {{"a", {4, 3}}, {"b", {3, 5}}}, {{4, 5}}, {{"transpose_a", false}})), "");
  refuse_step(backward_step(Op::matmul, {{"a", {4, 3}}, {"b", {3, 5}}}, {{4, 5}}, a), "expects matrices that fit");
  refuse_step(backward_step(Op::matmul, {{"a", {3}}, {"b", {3, 5}}}, {{5}}, a), "cannot transpose a vector");
  refuse_step(backward_step(Op::matmul, {{"a", {4, 3}}, {"b", {5, 3}}}, {{4, 5}}, {{"transpose_b", 1}}), "true or false");
}

TEST(PlanBackward, BatchNorm) {
  const Shape x = {batch(), 4, 5, 5};
  const Json plain = {{"eps", 1e-5}}, relu = with_attribute(plain, "activation", {{"kind", "relu"}});
  const Operands affine = {{"x", x}, {"weight", {4}}, {"bias", {4}}};
  EXPECT_EQ(problem(backward_step(Op::batch_norm_train, affine, {x, {4}, {4}}, plain)), "");
  EXPECT_EQ(problem(backward_step(Op::batch_norm_train, {{"x", x}}, {x, {4}, {4}, {1}}, relu, 3)), "");
  refuse_step(backward_step(Op::batch_norm_train, {{"x", x}}, {x, {4}, {4}, {1}}, relu), "is a workspace");
  refuse_step(backward_step(Op::batch_norm_train, {{"x", x}}, {x, {4}, {4}, {2}}, relu, 3), "is a workspace");
  refuse_step(backward_step(Op::batch_norm_train, {{"x", x}}, {x, {4}, {4}}, relu), "has 4 outputs, not 3");
  refuse_step(backward_step(Op::batch_norm_train, {{"x", x}}, {x, {4}, {4}}), "'eps' is missing");
  refuse_step(backward_step(Op::batch_norm_train, {{"x", x}}, {x, {4}, {4}}, {{"eps", -1}}), "'eps'");
  refuse_step(backward_step(Op::batch_norm_train, {{"x", x}}, {x, {4}, {4}}, {{"eps", "1"}}), "'eps'");
  refuse_step(backward_step(Op::batch_norm_train, {{"x", x}}, {x, {4}, {4}, {1}},
                            with_attribute(plain, "activation", {{"kind", "tanh"}}), 3),
              "no activation but relu");
  refuse_step(backward_step(Op::batch_norm_train, {{"x", x}, {"weight", {4}}}, {x, {4}, {4}}, plain),
              "a weight and a bias, or neither");
  refuse_step(backward_step(Op::batch_norm_train, {{"x", {batch()}}}, {{batch()}, {4}, {4}}, plain),
              "expects an input [N, C, …]");
  refuse_step(backward_step(Op::batch_norm_train, affine, {x, {4}, {5}}, plain), "expected [4]");

  const Operands back = {{"x", x}, {"dy", x}, {"mean", {4}}, {"var", {4}}};
  Operands all = back;
  all.push_back({"weight", {4}});
  all.push_back({"workspace", {1}});
  EXPECT_EQ(problem(backward_step(Op::batch_norm_backward, back, {x}, plain)), "");
  EXPECT_EQ(problem(backward_step(Op::batch_norm_backward, all, {x, {4}, {4}}, relu)), "");
  refuse_step(backward_step(Op::batch_norm_backward, all, {x}, relu), "has 3 outputs, not 1");
  refuse_step(backward_step(Op::batch_norm_backward, all, {x, {4}, {4}}, plain), "expects a workspace with an activation");
  refuse_step(backward_step(Op::batch_norm_backward, back, {x}, relu), "expects a workspace with an activation");
  refuse_step(backward_step(Op::batch_norm_backward, {{"x", x}, {"dy", {batch(), 4, 5, 4}}, back[2], back[3]}, {x}, plain),
              "a gradient of shape [batch, 4, 5, 5]");
}

TEST(PlanBackward, Pools) {
  const Json attributes = {
      {"kernel_size", {3, 2}}, {"stride", {2, 2}}, {"padding", {1, 0}}, {"dilation", {1, 1}}, {"ceil_mode", false}};
  const Shape x = {batch(), 4, 7, 7}, y = {batch(), 4, 4, 3};
  EXPECT_EQ(problem(backward_step(Op::max_pool_train, {{"x", x}}, {y, {1}}, attributes, 1)), "");
  refuse_step(backward_step(Op::max_pool_train, {{"x", x}}, {y, {1}}, attributes), "is a workspace");
  refuse_step(backward_step(Op::max_pool_train, {{"x", x}}, {x, {1}}, attributes, 1), "expected [batch, 4, 4, 3]");
  const Json back = with_attribute(attributes, "size", {7, 7});
  const Operands operands = {{"dy", y}, {"workspace", {1}}};
  EXPECT_EQ(problem(backward_step(Op::max_pool_backward, operands, {x}, back)), "");
  refuse_step(backward_step(Op::max_pool_backward, {{"dy", y}}, {x}, back), "needs an operand 'workspace'");
  refuse_step(backward_step(Op::max_pool_backward, operands, {x}, attributes), "'size' is missing");
  refuse_step(backward_step(Op::max_pool_backward, operands, {x}, with_attribute(back, "size", {9, 7})),
              "a gradient of shape [batch, 4, 5, 3]");
  refuse_step(backward_step(Op::max_pool_backward, {{"dy", x}, {"workspace", {1}}}, {x}, back),
              "a gradient of shape [batch, 4, 4, 3]");

  const Json average = {{"kernel_size", {2, 2}},     {"stride", {3, 3}},      {"padding", {1, 1}}, {"ceil_mode", true},
                        {"count_include_pad", true}, {"divisor_override", 0}, {"size", {5, 5}}};
  EXPECT_EQ(problem(backward_step(Op::avg_pool_backward, {{"dy", {batch(), 4, 2, 2}}}, {{batch(), 4, 5, 5}}, average)), "");
  refuse_step(backward_step(Op::avg_pool_backward, {{"dy", {batch(), 4, 3, 3}}}, {{batch(), 4, 5, 5}}, average),
              "a gradient of shape [batch, 4, 2, 2]");
  refuse_step(backward_step(Op::avg_pool_backward, {{"dy", {batch(), 4, 2, 2}}}, {{batch(), 4, 5, 5}},
                            with_attribute(average, "dilation", {1, 1})),
              "no attribute 'dilation'");

  const Json adaptive = {{"size", {7, 7}}};
  EXPECT_EQ(problem(backward_step(Op::adaptive_avg_pool_backward, {{"dy", {batch(), 4, 3, 9}}}, {x}, adaptive)), "");
  refuse_step(backward_step(Op::adaptive_avg_pool_backward, {{"dy", {batch(), 4, 3, 0}}}, {x}, adaptive), "can't pool");
  refuse_step(backward_step(Op::adaptive_avg_pool_backward, {{"dy", {batch(), 3, 3, 9}}}, {x}, adaptive),
              "expected [batch, 3, 7, 7]");
}

TEST(PlanBackward, Recurrent) {
  const Json attributes = {
      {"hidden_size", 4}, {"num_layers", 1}, {"bidirectional", false}, {"batch_first", true}, {"bias", true}};
  const Shape x = {batch(), 6, 5}, y = {batch(), 6, 4}, state = {1, batch(), 4};
  const Operands weights = {{"weight_ih_l0", {16, 5}}, {"weight_hh_l0", {16, 4}}, {"bias_ih_l0", {16}}, {"bias_hh_l0", {16}}};
  Operands train = {{"x", x}, {"h0", state}, {"c0", state}};
  train.insert(train.end(), weights.begin(), weights.end());
  EXPECT_EQ(problem(backward_step(Op::lstm_train, train, {y, state, state, {1}}, attributes, 3)), "");
  refuse_step(backward_step(Op::lstm_train, train, {y, state, state}, attributes), "has 4 outputs, not 3");
  refuse_step(backward_step(Op::lstm_train, train, {y, state, state, {1}}, attributes), "is a workspace");

  Operands back = train;
  for (const auto& [role, shape] : Operands{{"y", y}, {"h", state}, {"c", state}, {"workspace", {1}}, {"dy", y}, {"dc", state}})
    back.push_back({role, shape});
  std::vector<Shape> gradients = {x, state, state};
  for (const auto& [role, shape] : weights) gradients.push_back(shape);
  EXPECT_EQ(problem(backward_step(Op::lstm_backward, back, gradients, attributes)), "");
  std::vector<Shape> swapped = gradients;
  std::swap(swapped[3], swapped[4]);
  refuse_step(backward_step(Op::lstm_backward, back, swapped, attributes), "expected [16, 5]");
  gradients.pop_back();
  refuse_step(backward_step(Op::lstm_backward, back, gradients, attributes), "has 7 outputs, not 6");
  back[7].first = "hidden";  // y
  refuse_step(backward_step(Op::lstm_backward, back, gradients, attributes), "no operand 'hidden'");

  Operands gru = {{"x", x}, {"weight_ih_l0", {12, 5}}, {"weight_hh_l0", {12, 4}}, {"y", y}, {"h", state}, {"workspace", {1}},
                  {"dy", y}};
  const Json unbiased = with_attribute(attributes, "bias", false);
  EXPECT_EQ(problem(backward_step(Op::gru_backward, gru, {x, {12, 5}, {12, 4}}, unbiased)), "");
  gru.push_back({"dc", state});
  refuse_step(backward_step(Op::gru_backward, gru, {x, {12, 5}, {12, 4}}, unbiased), "no operand 'dc'");
}

}  // namespace
}  // namespace sheaf
