// The rules of convolutions and pools: operands, attributes, and shapes as PyTorch has them.
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/check/plan_problem.h"
#include "tests/unit/runtime/check/plan_samples.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

using samples::batch;
using samples::kConv;
using samples::one_step;
using samples::Operands;
using samples::Shape;

TEST(PlanWindows, Conv) {
  const Operands operands = {
      {"x", {batch(), 4, 9, 8}}, {"weight", {6, 2, 3, 3}}, {"bias", {6}}, {"residual", {batch(), 6, 5, 4}}};
  const Shape y = {batch(), 6, 5, 4};
  EXPECT_EQ(problem(one_step(Op::conv, operands, {y}, kConv)), "");
  const auto with = [&](const char* name, Json attribute) {
    Json changed = kConv;
    changed[name] = std::move(attribute);
    return one_step(Op::conv, operands, {y}, changed);
  };
  refuse_step(with("stride", {2}), "'stride' must be a list of 2");
  refuse_step(with("stride", {0, 1}), "'stride' must be a list of 2");
  refuse_step(with("stride", {1.5, 1}), "'stride' must be a list of 2");
  refuse_step(with("stride", {UINT64_MAX, 1}), "'stride' must be a list of 2");
  refuse_step(with("stride", 1), "'stride' must be a list of 2");
  refuse_step(with("padding_begin", {-1, 0}), "'padding_begin'");
  refuse_step(with("dilation", {0, 1}), "'dilation'");
  refuse_step(with("dilation", {1, 9}), "finds no place");
  refuse_step(with("groups", 0), "'groups'");
  refuse_step(with("groups", 3), "expects 6 input channels");
  refuse_step(with("groups", 4), "expects 8 input channels");
  refuse_step(with("padding_end", {2, 1}), "a residual of shape [batch, 6, 5, 5]");
  refuse_step(one_step(Op::conv, {{"x", {batch(), 4, 9}}, {"weight", {6, 2, 3, 3}}}, {y}, kConv),
              "expects an input of 4 dimensions");
  refuse_step(one_step(Op::conv, {{"x", {batch(), 4}}, {"weight", {6, 2}}}, {y}, kConv), "expects a weight of 4 dimensions");
  refuse_step(one_step(Op::conv, {{"x", {batch(), 4, 9, 8}}, {"weight", {6, 2, 0, 3}}}, {y}, kConv),
              "expects a kernel of sizes from 1");
  refuse_step(one_step(Op::conv, {{"x", {batch(), 4, 9, 8}}, {"weight", {6, 2, 3, 3}}, {"bias", {3}}}, {y}, kConv),
              "expects a bias of 6 elements");
}

TEST(PlanWindows, ConvOverADimensionThatIsTheBatch) {
  const auto of = [](Extent size, int64_t kernel, int64_t stride, Extent result) {
    return one_step(Op::conv, {{"x", {3, 1, size}}, {"weight", {1, 1, kernel}}}, {{3, 1, result}},
                    {{"stride", {stride}}, {"padding_begin", {0}}, {"padding_end", {0}}, {"dilation", {1}}, {"groups", 1}});
  };
  EXPECT_EQ(problem(of(batch(), 3, 1, batch() + Extent(-2))), "");
  EXPECT_EQ(problem(of(batch(4) + Extent(1), 2, 2, batch(2))), "");
  refuse_step(of(batch(), 2, 2, batch()), "isn't linear in it");
}

TEST(PlanWindows, ConvTranspose) {
  const Operands operands = {{"x", {batch(), 4, 5}}, {"weight", {4, 3, 4}}, {"bias", {6}}};
  const Json attributes = {{"stride", {2}}, {"padding", {1}}, {"output_padding", {1}}, {"dilation", {2}}, {"groups", 2}};
  // (5 - 1) * 2 - 2 * 1 + 2 * (4 - 1) + 1 + 1
  EXPECT_EQ(problem(one_step(Op::conv_transpose, operands, {{batch(), 6, 14}}, attributes)), "");
  refuse_step(one_step(Op::conv_transpose, operands, {{batch(), 6, 13}}, attributes), "expected [batch, 6, 14]");
  refuse_step(one_step(Op::conv_transpose, {{"x", {batch(), 3, 5}}, {"weight", {4, 3, 4}}}, {{batch(), 6, 14}}, attributes),
              "expects 4 input channels");
  Json changed = attributes;
  changed["output_padding"] = {2};
  refuse_step(one_step(Op::conv_transpose, operands, {{batch(), 6, 15}}, changed), "'output_padding'");
}

TEST(PlanWindows, Pools) {
  Json attributes = {
      {"kernel_size", {3, 2}}, {"stride", {2, 2}}, {"padding", {1, 0}}, {"dilation", {1, 1}}, {"ceil_mode", false}};
  const Shape x = {batch(), 4, 7, 7};
  EXPECT_EQ(problem(one_step(Op::max_pool, {{"x", x}}, {{batch(), 4, 4, 3}}, attributes)), "");
  attributes["ceil_mode"] = true;
  EXPECT_EQ(problem(one_step(Op::max_pool, {{"x", x}}, {{batch(), 4, 4, 4}}, attributes)), "");
  attributes["ceil_mode"] = 1;
  refuse_step(one_step(Op::max_pool, {{"x", x}}, {{batch(), 4, 4, 4}}, attributes), "'ceil_mode' must be true or false");
  attributes["ceil_mode"] = true;
  attributes["padding"] = {2, 0};
  refuse_step(one_step(Op::max_pool, {{"x", x}}, {{batch(), 4, 5, 4}}, attributes), "at most half");
  attributes["padding"] = {1, 0};
  attributes["dilation"] = {9, 1};
  refuse_step(one_step(Op::max_pool, {{"x", x}}, {{batch(), 4, 5, 4}}, attributes), "finds no place");
  // Half of the dilated window's span, not of its elements.
  attributes["dilation"] = {2, 1};
  attributes["padding"] = {2, 0};
  EXPECT_EQ(problem(one_step(Op::max_pool, {{"x", x}}, {{batch(), 4, 4, 4}}, attributes)), "");
  attributes["padding"] = {3, 0};
  refuse_step(one_step(Op::max_pool, {{"x", x}}, {{batch(), 4, 5, 4}}, attributes), "half of the window of 5, found 3");
  // A window that hangs over a small image's end, as PyTorch's ceil_mode has it.
  attributes = {{"kernel_size", {3, 3}}, {"stride", {2, 2}}, {"padding", {0, 0}}, {"dilation", {1, 1}}, {"ceil_mode", true}};
  EXPECT_EQ(problem(one_step(Op::max_pool, {{"x", {batch(), 4, 2, 2}}}, {{batch(), 4, 1, 1}}, attributes)), "");

  Json average = {{"kernel_size", {2, 2}}, {"stride", {3, 3}},          {"padding", {1, 1}},
                  {"ceil_mode", true},     {"count_include_pad", true}, {"divisor_override", 0}};
  // With ceil_mode a third window would start at 6, in the padding behind the 5 elements: PyTorch drops it.
  EXPECT_EQ(problem(one_step(Op::avg_pool, {{"x", {batch(), 4, 5, 5}}}, {{batch(), 4, 2, 2}}, average)), "");
  refuse_step(one_step(Op::avg_pool, {{"x", {batch(), 4, 5, 5}}}, {{batch(), 4, 3, 3}}, average), "expected [batch, 4, 2, 2]");
  average["divisor_override"] = -1;
  EXPECT_EQ(problem(one_step(Op::avg_pool, {{"x", {batch(), 4, 5, 5}}}, {{batch(), 4, 2, 2}}, average)), "");
  average["divisor_override"] = 1.5;
  refuse_step(one_step(Op::avg_pool, {{"x", {batch(), 4, 5, 5}}}, {{batch(), 4, 2, 2}}, average), "'divisor_override'");

  EXPECT_EQ(problem(one_step(Op::adaptive_avg_pool, {{"x", x}}, {{batch(), 4, 3, 9}})), "");
  refuse_step(one_step(Op::adaptive_avg_pool, {{"x", x}}, {{batch(), 3, 3, 9}}), "expected [batch, 4, 3, 9]");
  refuse_step(one_step(Op::adaptive_avg_pool, {{"x", x}}, {{batch(), 4, 0, 9}}), "can't pool");
  refuse_step(one_step(Op::adaptive_avg_pool, {{"x", {batch(), 4, 0, 7}}}, {{batch(), 4, 3, 9}}), "can't pool");
}

}  // namespace
}  // namespace sheaf
