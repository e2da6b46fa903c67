// Every way of computing a convolution, a linear layer or a gradient of either, taken in turn, against loops in double precision.
#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/draw.h"
#include "tests/unit/runtime/cpu/reference.h"
#include "tests/unit/runtime/cpu/reference_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace sheaf::test {
namespace {

/// Channels that fill registers or don't, kernels of 1×1 or 3×3.
ConvCase draw_dense_conv(Draw& draw) {
  ConvCase s;
  s.x = {draw.number(2, 5), draw.one_of<int64_t>({3, 16, 32, 48})};
  s.weight = {draw.one_of<int64_t>({16, 32, 40, 64}), s.x[1]};
  s.y = {s.x[0], s.weight[0]};
  const int64_t kernel = draw.one_of<int64_t>({1, 3, 3}), padding = kernel == 1 ? 0 : draw.number(0, 1),
                stride = draw.one_of<int64_t>({1, 1, 2});
  for (int axis = 0; axis < 2; ++axis) {
    s.x.push_back(draw.number(4, 10));
    s.weight.push_back(kernel);
    s.y.push_back((s.x.back() + 2 * padding - kernel) / stride + 1);
  }
  s.attributes = {{"stride", {stride, stride}}, {"padding_begin", {padding, padding}}, {"padding_end", {padding, padding}}};
  return s;
}

/// A transposed convolution with a stride of 1 or 2; of one `pixel`: which may become more pixels than the kernel has.
StepCase draw_transposed(Draw& draw, bool pixel) {
  const int64_t kernel = draw.number(3, 4), stride = draw.number(1, 2), padding = pixel ? 0 : draw.number(0, 1),
                extra = draw.number(0, stride - 1), dilation = pixel ? draw.number(1, 2) : 1;
  const Dims x = {draw.number(2, 5), draw.one_of<int64_t>({16, 32, 40, 64}), pixel ? 1 : draw.number(3, 6),
                  pixel ? 1 : draw.number(3, 6)},
             weight = {x[1], draw.one_of<int64_t>({3, 16, 32, 48}), kernel, kernel};
  const auto size = [&](int64_t of) { return (of - 1) * stride + dilation * (kernel - 1) + 1 - 2 * padding + extra; };
  StepCase step{Op::conv_transpose,
                {{"x", draw.tensor(x)}, {"weight", draw.tensor(weight, 0.1), draw.chance(50)}},
                {{"stride", {stride, stride}},
                 {"padding", {padding, padding}},
                 {"output_padding", {extra, extra}},
                 {"dilation", {dilation, dilation}},
                 {"groups", 1}},
                {{x[0], weight[1], size(x[2]), size(x[3])}}};
  if (draw.chance(50)) step.operands.push_back({"bias", draw.tensor({weight[1]}), true});
  if (draw.chance(50)) step.attributes["activation"] = {{"kind", "relu"}};
  return step;
}

std::vector<StepCase> draw_steps(Draw& draw) {
  const ConvCase s = draw_dense_conv(draw);
  StepCase y{Op::conv, {{"x", draw.tensor(s.x)}, {"weight", draw.tensor(s.weight, 0.1), draw.chance(50)}}, s.attributes, {s.y}};
  if (draw.chance(50)) y.operands.push_back({"bias", draw.tensor({s.y[1]}), true});
  if (draw.chance(40)) {
    y.operands.push_back({"residual", draw.tensor(s.y)});
    y.alias_residual = draw.chance(50);
  }
  if (draw.chance(50)) y.attributes["activation"] = {{"kind", "relu"}};
  StepCase dx{Op::conv_backward_data, {{"dy", draw.tensor(s.y)}, {"weight", draw.tensor(s.weight)}}, s.attributes, {s.x}};
  dx.attributes["size"] = {s.x[2], s.x[3]};
  StepCase dweight{Op::conv_backward_weight, {{"x", draw.tensor(s.x)}, {"dy", draw.tensor(s.y)}}, s.attributes, {s.weight}};
  dweight.attributes["kernel_size"] = {s.weight[2], s.weight[3]};
  dweight.attributes["bias"] = draw.chance(50);
  if (dweight.attributes["bias"]) dweight.outputs.push_back({s.y[1]});
  const int64_t rows = draw.number(2, 40), in = draw.number(16, 80), out = draw.number(80, 100);
  const StepCase linear{
      Op::linear_backward_data, {{"dy", draw.tensor({rows, out})}, {"weight", draw.tensor({out, in}, 0.1)}}, {}, {{rows, in}}};
  StepCase linear_weight{
      Op::linear_backward_weight, {{"x", draw.tensor({rows, in})}, {"dy", draw.tensor({rows, out})}}, {}, {{out, in}}};
  linear_weight.attributes["bias"] = draw.chance(50);
  if (linear_weight.attributes["bias"]) linear_weight.outputs.push_back({out});
  StepCase linear_y{Op::linear,
                    {{"x", draw.tensor({rows, in})}, {"weight", draw.tensor({out, in}, 0.1), draw.chance(30)}},
                    {},
                    {{rows, out}}};
  if (draw.chance(60)) linear_y.operands.push_back({"bias", draw.tensor({out}), draw.chance(50)});
  if (draw.chance(40)) {
    linear_y.operands.push_back({"residual", draw.tensor({rows, out})});
    linear_y.alias_residual = draw.chance(50);
  }
  if (draw.chance(50)) linear_y.attributes["activation"] = draw.activation();
  return {y, dx, dweight, linear, linear_weight, linear_y};
}

/// Rounding of a result to bf16, and of a gradient's transformed operands (tests/unit/runtime/cpu/winograd_steps_test.cpp).
double allowed(const StepCase& step, const std::string& candidate) {
  if (!step.bf16) return 1e-4;
  const bool gradient = step.op != Op::conv && step.op != Op::conv_transpose;
  return gradient && candidate == "winograd" ? 0.06 : 0x1p-8 + 1e-3;
}

class Candidates : public testing::TestWithParam<bool> {};

TEST_P(Candidates, each_agrees_with_loops_and_keeps_its_bits) {
  const bool bf16 = GetParam();
  if (bf16 && !has_bf16()) GTEST_SKIP() << "this CPU doesn't multiply bf16";
  std::map<Op, std::set<std::string>> taken;
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    Draw draw(seed), other(100 + seed);
    std::vector<StepCase> steps = draw_steps(draw);
    for (const bool pixel : {false, true}) steps.push_back(draw_transposed(other, pixel));
    for (StepCase& step : steps) {
      step.fast = draw.chance(70);
      step.bf16 = bf16;
      step.threads = draw.threads();
      if (bf16)
        for (Operand& operand : step.operands)
          if (operand.role != "bias") operand.value = rounded_to_bf16(std::move(operand.value));
      const bool gradient = step.op != Op::conv && step.op != Op::conv_transpose && step.op != Op::linear;
      const auto expected = gradient ? reference_training(step) : reference(step);
      const auto model = run_step(step);
      ASSERT_TRUE(bool(model)) << to_string(model.error());
      for (const std::string& candidate : model->candidates) {
        step.candidate = candidate;
        const auto run = run_step(step);
        ASSERT_TRUE(bool(run)) << to_string(run.error());
        SCOPED_TRACE(to_string(step.op) + " by " + candidate + ", " + run->implementation + ", seed " + std::to_string(seed));
        EXPECT_EQ(run->candidate, candidate);
        taken[step.op].insert(candidate);
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_LE(relative_error(run->outputs[i], expected[i]), allowed(step, candidate)) << "output " << i;
      }
    }
  }
  for (const Op op : {Op::linear, Op::linear_backward_data, Op::linear_backward_weight})
    if (!bf16) EXPECT_THAT(taken[op], testing::UnorderedElementsAre("matmul", "inner_product"));
  for (const Op op : {Op::conv, Op::conv_transpose, Op::conv_backward_data, Op::conv_backward_weight}) {
    std::set<std::string> all = {"direct"};
    if (has_avx2()) all.insert("winograd");
    if (has_avx2()) all.insert("pixels");
    all.insert(op == Op::conv_transpose ? "product" : "pointwise");
    if (has_avx512() && op != Op::conv_transpose) all.insert("blocks");
    if (has_avx512() && op == Op::conv && !bf16) all.insert("last");
    if (has_amx() && !bf16) all.insert("pixels_split");
    if (has_amx() && !bf16 && op != Op::conv_backward_weight) all.insert("winograd_split");  // dweight wants more images
    EXPECT_THAT(taken[op], testing::IsSupersetOf(all)) << to_string(op) << ": some candidate was never tried";
  }
}

INSTANTIATE_TEST_SUITE_P(of, Candidates, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "bf16" : "f32"); });

TEST(Candidates, an_unknown_name_leaves_the_choice_to_the_model) {
  Draw draw(3);
  StepCase step{
      Op::conv, {{"x", draw.tensor({4, 32, 8, 8})}, {"weight", draw.tensor({32, 32, 1, 1})}}, Json::object(), {{4, 32, 8, 8}}};
  const auto model = run_step(step);
  step.candidate = "of another version";
  const auto run = run_step(step);
  ASSERT_TRUE(model && run);
  ASSERT_GE(run->candidates.size(), 2u);
  EXPECT_EQ(run->candidate, model->candidate);
}

}  // namespace
}  // namespace sheaf::test
