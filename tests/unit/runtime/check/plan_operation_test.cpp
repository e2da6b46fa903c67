// The rules of operations, except those of windows and of training: operands, attributes, and shapes as in PyTorch.
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/check/plan_problem.h"
#include "tests/unit/runtime/check/plan_samples.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

using samples::batch;
using samples::one_step;
using samples::Operands;
using samples::Shape;

TEST(PlanOperations, Linear) {
  const Operands operands = {{"x", {batch(), 7, 5}}, {"weight", {2, 5}}, {"bias", {2}}, {"residual", {batch(), 7, 2}}};
  const Shape y = {batch(), 7, 2};
  EXPECT_EQ(problem(one_step(Op::linear, operands, {y}, {{"activation", {{"kind", "relu"}}}})), "");
  EXPECT_EQ(problem(one_step(Op::linear, {{"x", {5}}, {"weight", {2, 5}}}, {{2}})), "");
  EXPECT_EQ(problem(one_step(Op::linear, {{"x", {batch(), 0}}, {"weight", {2, 0}}}, {{batch(), 2}})), "");
  const auto with = [&](size_t i, const Shape& shape) {
    Operands changed = operands;
    changed[i].second = shape;
    return one_step(Op::linear, changed, {y});
  };
  refuse_step(with(0, {batch(), 7, 6}), "expects 5 input features");
  refuse_step(with(0, {}), "expects 5 input features");
  refuse_step(with(1, {2, 5, 1}), "expects a weight [out, in]");
  refuse_step(with(1, {2, batch()}), "expects a weight [out, in]");
  refuse_step(with(2, {3}), "expects a bias of 2 elements");
  refuse_step(with(3, {batch(), 2}), "expects a residual of shape [batch, 7, 2]");
  refuse_step(one_step(Op::linear, operands, {{batch(), 7, 3}}), "expected [batch, 7, 2]");
  refuse_step(one_step(Op::linear, operands, {y, y}), "has 1 outputs, not 2");
  refuse_step(one_step(Op::linear, {{"x", {5}}}, {{2}}), "needs an operand 'weight'");
  refuse_step(one_step(Op::linear, {{"weight", {2, 5}}, {"x", {5}}}, {{2}}), "must be the first operand");
  refuse_step(one_step(Op::linear, {{"x", {5}}, {"weight", {2, 5}}, {"w", {2}}}, {{2}}), "no operand 'w'");
  refuse_step(one_step(Op::linear, operands, {y}, {{"bias", true}}), "no attribute 'bias'");
  Plan twice = one_step(Op::linear, operands, {y});
  twice.infer.steps[0].roles[3] = "bias";
  refuse_step(twice, "appears twice");
  Plan integers = one_step(Op::linear, operands, {y});
  integers.infer.values[0].dtype = DType::int64;
  refuse_step(integers, "floating-point");
}

TEST(PlanOperations, Activations) {
  const auto with = [](Json activation) {
    return one_step(Op::linear, {{"x", {5}}, {"weight", {2, 5}}}, {{2}}, {{"activation", std::move(activation)}});
  };
  const std::vector<Json> known = {{{"kind", "relu"}},
                                   {{"kind", "leaky_relu"}, {"negative_slope", 0.01}},
                                   {{"kind", "elu"}, {"alpha", 1}},
                                   {{"kind", "silu"}},
                                   {{"kind", "gelu"}},
                                   {{"kind", "gelu_tanh"}},
                                   {{"kind", "tanh"}},
                                   {{"kind", "sigmoid"}},
                                   {{"kind", "hardtanh"}, {"min_val", -1}, {"max_val", 1}}};
  for (const Json& activation : known) EXPECT_EQ(problem(with(activation)), "") << activation;
  refuse_step(with("relu"), "known 'kind'");
  refuse_step(with({{"kind", "swishish"}}), "known 'kind'");
  refuse_step(with({{"kind", 3}}), "known 'kind'");
  refuse_step(with({{"kind", "elu"}}), "takes other numbers");
  refuse_step(with({{"kind", "elu"}, {"alpha", "1"}}), "takes other numbers");
  refuse_step(with({{"kind", "relu"}, {"alpha", 1}}), "takes other numbers");
}

TEST(PlanOperations, Matmul) {
  const auto of = [](Shape a, Shape b, Shape y) { return one_step(Op::matmul, {{"a", a}, {"b", b}}, {y}); };
  EXPECT_EQ(problem(of({batch(), 3}, {3, 4}, {batch(), 4})), "");
  EXPECT_EQ(problem(of({3}, {3}, {})), "");
  EXPECT_EQ(problem(of({3}, {3, 4}, {4})), "");
  EXPECT_EQ(problem(of({2, 3}, {3}, {2})), "");
  EXPECT_EQ(problem(of({batch(), 1, 2, 3}, {5, 3, 4}, {batch(), 5, 2, 4})), "");
  EXPECT_EQ(problem(of({3}, {batch(), 3, 4}, {batch(), 4})), "");
  EXPECT_EQ(problem(of({1, 2, batch()}, {6, batch(), 4}, {6, 2, 4})), "");
  refuse_step(of({2, 3}, {4, 5}, {2, 5}), "expects matrices that fit");
  refuse_step(of({2, 2, 3}, {3, 3, 5}, {2, 2, 5}), "expects matrices that fit");
  refuse_step(of({}, {3}, {}), "expects matrices that fit");
  refuse_step(of({2, 3}, {3, 4}, {4, 2}), "expected [2, 4]");
}

Operands recurrent(int64_t gates, bool state_of_cell) {
  Operands operands = {{"x", {10, batch(), 3}}, {"h0", {4, batch(), 5}}};
  if (state_of_cell) operands.push_back({"c0", {4, batch(), 5}});
  for (int layer = 0; layer < 2; ++layer)
    for (const char* direction : {"", "_reverse"}) {
      const std::string suffix = "_l" + std::to_string(layer) + direction;
      operands.push_back({"weight_ih" + suffix, {gates * 5, layer == 0 ? 3 : 10}});
      operands.push_back({"weight_hh" + suffix, {gates * 5, 5}});
      operands.push_back({"bias_ih" + suffix, {gates * 5}});
      operands.push_back({"bias_hh" + suffix, {gates * 5}});
    }
  return operands;
}

TEST(PlanOperations, Recurrent) {
  const Json attributes = {
      {"hidden_size", 5}, {"num_layers", 2}, {"bidirectional", true}, {"batch_first", false}, {"bias", true}};
  const Shape y = {10, batch(), 10};
  const Shape state = {4, batch(), 5};
  EXPECT_EQ(problem(one_step(Op::lstm, recurrent(4, true), {y, state, state}, attributes)), "");
  EXPECT_EQ(problem(one_step(Op::gru, recurrent(3, false), {y, state}, attributes)), "");
  refuse_step(one_step(Op::gru, recurrent(4, false), {y, state}, attributes), "of shape [15, 3]");
  refuse_step(one_step(Op::lstm, recurrent(4, true), {y, state}, attributes), "has 3 outputs");
  refuse_step(one_step(Op::lstm, recurrent(4, true), {y, state, y}, attributes), "expected [4, batch, 5]");
  refuse_step(one_step(Op::lstm, recurrent(4, false), {y, state, state}, attributes), "'h0' and 'c0' come together");
  refuse_step(one_step(Op::gru, recurrent(3, true), {y, state}, attributes), "no operand 'c0'");
  Operands missing = recurrent(3, false);
  missing.pop_back();
  refuse_step(one_step(Op::gru, missing, {y, state}, attributes), "needs an operand 'bias_hh_l1_reverse'");
  Json changed = attributes;
  changed["num_layers"] = 1000;
  refuse_step(one_step(Op::gru, recurrent(3, false), {y, state}, changed), "needs an operand 'weight_ih_l2'");
  changed["num_layers"] = 1001001;
  refuse_step(one_step(Op::gru, recurrent(3, false), {y, state}, changed), "'num_layers'");
  changed = attributes;
  changed["bias"] = false;
  refuse_step(one_step(Op::gru, recurrent(3, false), {y, state}, changed), "no operand 'bias_ih_l0'");
  changed = attributes;
  changed["batch_first"] = true;
  refuse_step(one_step(Op::gru, recurrent(3, false), {y, state}, changed), "of shape [4, 10, 5]");
  refuse_step(
      one_step(Op::gru, {{"x", {3, 3}}, {"weight_ih_l0", {15, 3}}, {"weight_hh_l0", {15, 5}}}, {{3, 5}, {1, 5}},
               {{"hidden_size", 5}, {"num_layers", 1}, {"bidirectional", false}, {"batch_first", false}, {"bias", false}}),
      "expects an input of 3 dimensions");
}

TEST(PlanOperations, View) {
  const auto of = [](Shape x, Shape y) { return one_step(Op::view, {{"x", x}}, {y}); };
  EXPECT_EQ(problem(of({batch(), 2, 3}, {batch(6)})), "");
  EXPECT_EQ(problem(of({batch(2) + Extent(2), 3}, {2, batch() + Extent(1), 3})), "");
  EXPECT_EQ(problem(of({}, {1, 1})), "");
  EXPECT_EQ(problem(of({0, batch()}, {7, 0})), "");
  refuse_step(of({batch(), 2}, {batch(), 3}), "can't be viewed");
  refuse_step(of({batch(), 2}, {2}), "can't be viewed");
  refuse_step(of({batch(), batch()}, {batch()}), "can't be viewed");
  Plan dtype = of({4}, {2, 2});
  dtype.infer.values[1].dtype = DType::int32;
  refuse_step(dtype, "dtype");
}

TEST(PlanOperations, NonfiniteCountsAnyNumberOfTensors) {
  EXPECT_EQ(problem(one_step(Op::nonfinite, {{"x0", {batch(), 3}}}, {{}})), "");
  Plan plan = one_step(Op::nonfinite, {{"x0", {batch(), 3}}, {"x1", {}}, {"x2", {0}}}, {{}});
  plan.infer.values[1].dtype = DType::float16;
  EXPECT_EQ(problem(plan), "");
  plan.infer.values[1].dtype = DType::int64;
  refuse_step(plan, "floating-point");
  refuse_step(one_step(Op::nonfinite, {}, {{}}), "needs an operand 'x0'");
  refuse_step(one_step(Op::nonfinite, {{"x", {3}}}, {{}}), "operand 0 must be 'x0', not 'x'");
  refuse_step(one_step(Op::nonfinite, {{"x0", {3}}, {"x2", {3}}}, {{}}), "operand 1 must be 'x1', not 'x2'");
  refuse_step(one_step(Op::nonfinite, {{"x0", {3}}}, {{1}}), "expected []");
  refuse_step(one_step(Op::nonfinite, {{"x0", {3}}}, {{}}, {{"bias", true}}), "no attribute 'bias'");
}

TEST(PlanOperations, Print) {
  EXPECT_EQ(problem(one_step(Op::print, {{"x", {batch()}}, {"y", {3}}}, {{batch()}}, {{"text", "{0}"}})), "");
  refuse_step(one_step(Op::print, {{"x", {batch()}}}, {{3}}, {{"text", ""}}), "expected [batch]");
  refuse_step(one_step(Op::print, {{"x", {3}}}, {{3}}, {{"text", 3}}), "must be a string");
  refuse_step(one_step(Op::print, {{"x", {3}}}, {{3}}), "'text' is missing");
  refuse_step(one_step(Op::print, {}, {{3}}, {{"text", ""}}), "needs an input");
}

TEST(PlanOperations, Kernel) {
  Json attributes = {{"extents", {"batch", "5"}}, {"work", "batch"}, {"grain", 1}};
  const auto of = [&](Json with) {
    Plan plan = one_step(Op::kernel, {{"x", {batch(), 5}}, {"table", {7, 5}}}, {{batch(), 5}, {}}, std::move(with));
    plan.infer.steps[0].kernel = "k";
    plan.kernels = {{"k", "", 2, false, {}}};
    plan.objects = {{"x86-64-v3", "code"}};
    return plan;
  };
  EXPECT_EQ(problem(of(attributes)), "");
  Plan unknown = of(attributes);
  unknown.infer.steps[0].kernel = "l";
  refuse_step(unknown, "no kernel 'l'");
  const auto with = [&](const char* name, Json attribute) {
    Json changed = attributes;
    changed[name] = std::move(attribute);
    return of(changed);
  };
  refuse_step(with("extents", {"batch"}), "a list of 2 sizes");
  refuse_step(with("extents", 2), "a list of 2 sizes");
  refuse_step(with("extents", {"batch", 5}), "extents[1] must be a size written as a string");
  refuse_step(with("extents", {"rows", "5"}), "unknown symbol 'rows'");
  refuse_step(with("work", "5 + batch"), "is not a size");
  EXPECT_EQ(problem(with("gpu_work", "5*batch")), "");
  refuse_step(with("gpu_work", "rows"), "unknown symbol 'rows'");
  refuse_step(with("grain", 0), "'grain'");
  EXPECT_EQ(problem(with("least", 2)), "");
  refuse_step(with("least", 0), "'least'");
  // Text: nlohmann's constructors read nested braces in more than one way.
  EXPECT_EQ(problem(with("in_place", Json::parse("[[0,0]]"))), "");
  for (const char* bad : {"[[0,1]]", "[[1,0]]", "[[2,0]]", "[[0,0],[0,0]]", "[0,0]", "[[0]]", "[[-1,0]]", "\"x\"", "[[0,2]]"})
    refuse_step(with("in_place", Json::parse(bad)), "'in_place'");

  // Another kernel that takes operand 1 in bf16.
  const auto narrow = [&](const char* text) {
    Plan plan = with("narrow", Json::parse(text));
    plan.kernels.push_back({"n", "", 2, true, {}});
    return plan;
  };
  EXPECT_EQ(problem(narrow(R"({"input": 1, "dtype": "bfloat16", "kernel": "n"})")), "");
  for (const char* bad :
       {R"({"input": 2, "dtype": "bfloat16", "kernel": "n"})", R"({"input": -1, "dtype": "bfloat16", "kernel": "n"})",
        R"({"input": 1, "dtype": "float32", "kernel": "n"})", R"({"input": 1, "dtype": "bfloat16", "kernel": "k"})",
        R"({"input": 1, "dtype": "bfloat16", "kernel": "l"})", R"({"input": 1, "dtype": "bfloat16"})",
        R"([1, "bfloat16", "n"])", R"({"input": 1, "dtype": "bfloat16", "kernel": "n", "more": 1})"})
    refuse_step(narrow(bad), "'narrow'");
  Plan wide = narrow(R"({"input": 0, "dtype": "float16", "kernel": "n"})");
  EXPECT_EQ(problem(wide), "");
  wide.infer.values[0].dtype = DType::bfloat16;
  refuse_step(wide, "'narrow'");
  Plan fewer = narrow(R"({"input": 1, "dtype": "bfloat16", "kernel": "n"})");
  fewer.kernels.back().extents = 1;
  refuse_step(fewer, "'narrow'");

  Plan lookup = with("status", 1);
  lookup.infer.values[0].dtype = DType::int64;
  lookup.infer.values[3].dtype = DType::int64;
  EXPECT_EQ(problem(lookup), "");
  refuse_step(with("status", 1), "one int64");
  refuse_step(with("status", 2), "'status' must be an integer from 0 to 1");
  lookup.infer.values[0].dtype = DType::float32;
  refuse_step(lookup, "integer indices");
  refuse_step(with("lookup_dim", 0), "'lookup_dim' goes with integer indices");
  Plan silent = with("lookup_dim", 0);
  silent.infer.values[0].dtype = DType::int64;
  EXPECT_EQ(problem(silent), "");
  silent = with("lookup_dim", 7);
  silent.infer.values[0].dtype = DType::int64;
  refuse_step(silent, "'lookup_dim' must be an integer from 0 to");
}

}  // namespace
}  // namespace sheaf
