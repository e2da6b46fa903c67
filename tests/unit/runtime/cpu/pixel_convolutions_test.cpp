// Convolutions as products over the batch, at sizes where another implementation would be chosen: all ways in which padding,
// stride and kernel can keep pixels from meeting.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/cpu/ops/conv_pixels.h"
#include "runtime/cpu/ops/pixel_meetings.h"
#include "runtime/cpu/winograd/kernels.h"
#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/draw.h"
#include "tests/unit/runtime/cpu/reference.h"
#include "tests/unit/runtime/cpu/reference_training.h"
#include "tests/unit/runtime/cpu/training_runner.h"

namespace sheaf::test {
namespace {

ConvCase draw_padded_conv(Draw& draw) {
  ConvCase s;
  s.x = {draw.number(1, 4), draw.one_of<int64_t>({16, 32, 48})};
  s.weight = {draw.one_of<int64_t>({16, 48, 80}), s.x[1]};
  s.y = {s.x[0], s.weight[0]};
  std::vector<int64_t> stride, begin, end;
  for (int d = 0; d < 2; ++d) {
    const int64_t kernel = draw.number(1, 4);
    stride.push_back(draw.number(1, 3));
    begin.push_back(draw.number(0, 3));
    end.push_back(draw.chance(30) ? draw.number(0, 3) : begin.back());
    s.x.push_back(draw.number(std::max<int64_t>(1, kernel - begin.back() - end.back()), 8));
    s.weight.push_back(kernel);
    s.y.push_back((s.x.back() + begin.back() + end.back() - kernel) / stride.back() + 1);
  }
  s.attributes = {{"stride", stride}, {"padding_begin", begin}, {"padding_end", end}};
  return s;
}

std::vector<int64_t> sizes(const std::vector<int64_t>& dims) { return {dims[2], dims[3]}; }

void check(const TrainingStep& step, const std::vector<Tensor>& expected) {
  SCOPED_TRACE(to_string(step.op) + " " + step.attributes.dump() + " threads " + std::to_string(step.threads));
  const auto run = run_training(step);
  ASSERT_TRUE(bool(run)) << to_string(run.error());
  EXPECT_EQ(run->implementation.substr(0, 6), "pixels");
  ASSERT_EQ(run->outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LT(relative_error(plain(run->outputs[i]), expected[i]), 2e-5) << "output " << i;
}

/// The step in plain layouts, by one thread or two.
TrainingStep drawn_step(const StepCase& c, Draw& draw) {
  TrainingStep step = step_of(c);
  step.threads = draw.threads();
  return step;
}

bool has_pixel_kernels() { return winograd::kernels_of(winograd::Element::f32, /*narrow=*/false); }

class Pixels : public testing::TestWithParam<uint32_t> {};

TEST_P(Pixels, convolution_agrees_with_loops) {
  if (!has_pixel_kernels()) GTEST_SKIP() << "this CPU has no AVX2";
  Draw draw(GetParam());
  for (int i = 0; i < 25; ++i) {
    const ConvCase s = draw_padded_conv(draw);
    StepCase c;
    c.op = Op::conv;
    c.attributes = s.attributes;
    c.operands = {{"x", draw.tensor(s.x), false}, {"weight", draw.tensor(s.weight), true}};
    if (draw.chance(50)) c.operands.push_back({"bias", draw.tensor({s.weight[0]}), true});
    if (draw.chance(30)) c.operands.push_back({"residual", draw.tensor(s.y), false});
    if (draw.chance(50)) c.attributes["activation"] = {{"kind", "relu"}};
    c.outputs = {s.y};
    TrainingStep step = drawn_step(c, draw);
    step.prepare = [&](const PrepareRequest& request) -> Result<Prepared> {
      const Operation operation(request);
      return prepare_conv_pixels(operation, conv_shape(operation), Operands::whole);
    };
    check(step, reference(c));
  }
}

TEST_P(Pixels, gradients_agree_with_loops) {
  if (!has_pixel_kernels()) GTEST_SKIP() << "this CPU has no AVX2";
  Draw draw(GetParam());
  for (int i = 0; i < 25; ++i) {
    const ConvCase s = draw_padded_conv(draw);
    StepCase data;
    data.op = Op::conv_backward_data;
    data.attributes = s.attributes;
    data.attributes["size"] = sizes(s.x);
    data.operands = {{"dy", draw.tensor(s.y)}, {"weight", draw.tensor(s.weight)}};
    data.outputs = {s.x};
    TrainingStep step = drawn_step(data, draw);
    step.prepare = [&](const PrepareRequest& request) -> Result<Prepared> {
      const Operation operation(request);
      return prepare_conv_backward_data_pixels(operation, conv_shape(operation, s.x, s.weight, s.y, "dy"), Operands::whole);
    };
    check(step, reference_training(data));

    StepCase weight;
    weight.op = Op::conv_backward_weight;
    weight.attributes = s.attributes;
    weight.attributes["kernel_size"] = sizes(s.weight);
    weight.attributes["bias"] = draw.chance(50);
    weight.operands = {{"x", draw.tensor(s.x)}, {"dy", draw.tensor(s.y)}};
    weight.outputs = {s.weight};
    if (weight.attributes["bias"]) weight.outputs.push_back({s.weight[0]});
    step = drawn_step(weight, draw);
    step.prepare = [&](const PrepareRequest& request) -> Result<Prepared> {
      const Operation operation(request);
      ConvShape shape = conv_shape(operation, s.x, s.weight, s.y, "dy");
      if (operation.flag("bias", false)) shape.bias = {s.weight[0]};
      return prepare_conv_backward_weight_pixels(operation, shape, Operands::whole);
    };
    check(step, reference_training(weight));
  }
}

/// By tiles, of bf16 or of f32 in two parts, with as many images as AMX's tiles have rows, fewer and more: close to loops, and the same bits
/// by any number of threads.
void check_by_threads(Draw& draw, bool bf16) {
  for (int i = 0; i < 5; ++i) {
    ConvCase s = draw_padded_conv(draw);
    s.x[0] = s.y[0] = draw.one_of<int64_t>({2, 16, 17, 33, 70});
    if (!bf16) {  // whole units of a split depth
      s.x[1] = s.weight[1] = draw.one_of<int64_t>({32, 64});
      s.y[1] = s.weight[0] = draw.one_of<int64_t>({32, 96});
    }
    StepCase y{Op::conv, {{"x", draw.tensor(s.x)}, {"weight", draw.tensor(s.weight), true}}, s.attributes, {s.y}};
    if (draw.chance(50)) y.operands.push_back({"bias", draw.tensor({s.weight[0]}), true});
    StepCase dx{Op::conv_backward_data, {{"dy", draw.tensor(s.y)}, {"weight", draw.tensor(s.weight)}}, s.attributes, {s.x}};
    dx.attributes["size"] = sizes(s.x);
    StepCase dweight{Op::conv_backward_weight, {{"x", draw.tensor(s.x)}, {"dy", draw.tensor(s.y)}}, s.attributes, {s.weight}};
    dweight.attributes["kernel_size"] = sizes(s.weight);
    for (StepCase* step : {&y, &dx, &dweight}) {
      step->attributes["dilation"] = {1, 1};
      step->attributes["groups"] = 1;
      step->bf16 = bf16;
      step->fast = !bf16;
      step->candidate = bf16 ? "pixels" : "pixels_split";
      for (Operand& operand : step->operands)
        if (bf16 && operand.role != "bias") operand.value = rounded_to_bf16(std::move(operand.value));
      const auto expected = step->op == Op::conv ? reference(*step) : reference_training(*step);
      std::vector<float> first;
      for (const int threads : {1, 2, 3}) {
        step->threads = threads;
        SCOPED_TRACE(to_string(step->op) + " " + step->attributes.dump() + " threads " + std::to_string(threads));
        const auto run = run_step(*step);
        ASSERT_TRUE(bool(run)) << to_string(run.error());
        ASSERT_EQ(run->candidate, step->candidate);
        if (first.empty()) first = run->outputs[0].data;
        EXPECT_TRUE(run->outputs[0].data == first);
      }
    }
  }
}

TEST_P(Pixels, bf16_agrees_with_loops_by_any_number_of_threads) {
  if (!has_bf16()) GTEST_SKIP() << "this CPU doesn't multiply bf16";
  Draw draw(GetParam());
  check_by_threads(draw, true);
}

TEST_P(Pixels, split_f32_agrees_with_loops_by_any_number_of_threads) {
  if (!has_amx()) GTEST_SKIP() << "this CPU has no AMX";
  Draw draw(GetParam());
  check_by_threads(draw, false);
}

INSTANTIATE_TEST_SUITE_P(seeds, Pixels, testing::Range(1u, 5u));

ConvShape image(int64_t size, int64_t kernel, int64_t stride, int64_t padding) {
  ConvShape g;
  const int64_t y = (size + 2 * padding - kernel) / stride + 1;
  g.x = {8, 16, size, size};
  g.y = {8, 16, y, y};
  g.weight = {16, 16, kernel, kernel};
  g.dilation = {1, 1};
  g.stride = {stride, stride};
  g.padding_begin = g.padding_end = {padding, padding};
  return g;
}

TEST(Meetings, padding_meets_nothing) {
  const std::vector<Meeting> all = meetings(image(4, 3, 1, 1));
  EXPECT_EQ(all.size(), 100u);    // of 16 · 9: in each direction the outer rows of pixels see two of three taps
  EXPECT_EQ(all.front().tap, 4);  // the upper left pixel sees itself first
  for (const Meeting& m : all) EXPECT_EQ(m.x, m.y + (m.tap / 3 - 1) * 4 + m.tap % 3 - 1);
}

TEST(Meetings, what_lies_between_strides_meets_nothing) {
  const std::vector<Meeting> all = meetings(image(5, 1, 2, 0));
  ASSERT_EQ(all.size(), 9u);
  EXPECT_EQ(all[4].x, 12);  // the middle
  EXPECT_EQ(all[4].y, 4);
}

TEST(Meetings, a_pixel_may_see_padding_alone) {
  const std::vector<Meeting> all = meetings(image(1, 1, 1, 1));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].y, 4);  // of 3 × 3
}

}  // namespace
}  // namespace sheaf::test
