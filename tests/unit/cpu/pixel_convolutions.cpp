// Convolutions as products over the batch, at sizes where another implementation would be chosen: all ways that
// padding, stride and kernel can cut rows into runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/cpu/ops/conv_pixels.h"
#include "runtime/cpu/ops/pixel_runs.h"
#include "tests/unit/cpu/draw.h"
#include "tests/unit/cpu/reference.h"
#include "tests/unit/cpu/reference_training.h"
#include "tests/unit/cpu/training_runner.h"

namespace sheaf::test {
namespace {

struct Shapes {
  Json attributes;
  std::vector<int64_t> x, weight, y;
};

Shapes draw_shapes(Draw& draw) {
  Shapes s;
  s.x = {draw.number(1, 4), draw.one_of<int64_t>({1, 3, 16, 20})};
  s.weight = {draw.one_of<int64_t>({1, 5, 16, 33}), s.x[1]};
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

TrainingStep step_of(const StepCase& c, Draw& draw) {
  TrainingStep step;
  step.op = c.op;
  for (const Operand& operand : c.operands) step.operands.emplace_back(operand.role, store(operand.value));
  step.attributes = c.attributes;
  step.outputs = c.outputs;
  step.threads = draw.threads();
  return step;
}

void check(const TrainingStep& step, const std::vector<Tensor>& expected) {
  SCOPED_TRACE(step.op + " " + step.attributes.dump() + " threads " + std::to_string(step.threads));
  const auto run = run_training(step);
  ASSERT_TRUE(bool(run)) << to_string(run.error());
  EXPECT_EQ(run->implementation.substr(0, 6), "pixels");
  ASSERT_EQ(run->outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LT(relative_error(plain(run->outputs[i]), expected[i]), 2e-5) << "output " << i;
}

class Pixels : public testing::TestWithParam<uint32_t> {};

TEST_P(Pixels, convolution_agrees_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 25; ++i) {
    const Shapes s = draw_shapes(draw);
    StepCase c;
    c.op = "conv";
    c.attributes = s.attributes;
    c.operands = {{"x", draw.tensor(s.x), false}, {"weight", draw.tensor(s.weight), true}};
    if (draw.chance(50)) c.operands.push_back({"bias", draw.tensor({s.weight[0]}), true});
    if (draw.chance(30)) c.operands.push_back({"residual", draw.tensor(s.y), false});
    if (draw.chance(50)) c.attributes["activation"] = {{"kind", "relu"}};
    c.outputs = {s.y};
    TrainingStep step = step_of(c, draw);
    bool reached = true;
    step.prepare = [&](const PrepareRequest& request) -> Result<Prepared> {
      const Operation operation(request);
      const ConvShape shape = conv_shape(operation);
      reached = every_pixel_is_reached(shape);
      if (!reached) return Error("a pixel sees nothing but padding");
      return prepare_conv_pixels(operation, shape);
    };
    if (const auto run = run_training(step); !reached) continue;
    check(step, reference(c));
  }
}

TEST_P(Pixels, gradients_agree_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 25; ++i) {
    const Shapes s = draw_shapes(draw);
    StepCase data;
    data.op = "conv_backward_data";
    data.attributes = s.attributes;
    data.attributes["size"] = sizes(s.x);
    data.operands = {{"dy", draw.tensor(s.y)}, {"weight", draw.tensor(s.weight)}};
    data.outputs = {s.x};
    TrainingStep step = step_of(data, draw);
    step.prepare = [&](const PrepareRequest& request) -> Result<Prepared> {
      const Operation operation(request);
      return prepare_conv_backward_data_pixels(operation, conv_shape(operation, s.x, s.weight, s.y, "dy"));
    };
    check(step, reference_training(data));

    StepCase weight;
    weight.op = "conv_backward_weight";
    weight.attributes = s.attributes;
    weight.attributes["kernel_size"] = sizes(s.weight);
    weight.attributes["bias"] = draw.chance(50);
    weight.operands = {{"x", draw.tensor(s.x)}, {"dy", draw.tensor(s.y)}};
    weight.outputs = {s.weight};
    if (weight.attributes["bias"]) weight.outputs.push_back({s.weight[0]});
    step = step_of(weight, draw);
    step.prepare = [&](const PrepareRequest& request) -> Result<Prepared> {
      const Operation operation(request);
      ConvShape shape = conv_shape(operation, s.x, s.weight, s.y, "dy");
      if (operation.flag("bias", false)) shape.bias = {s.weight[0]};
      return prepare_conv_backward_weight_pixels(operation, shape);
    };
    check(step, reference_training(weight));
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, Pixels, testing::Range(1u, 5u));

TEST(PixelRuns, a_padded_row_is_two_whole_runs_and_the_cut_ones_between) {
  ConvShape g;
  g.x = {8, 1, 4, 4};
  g.y = {8, 1, 4, 4};
  g.weight = {1, 1, 3, 3};
  g.stride = g.dilation = g.padding_begin = g.padding_end = {1, 1};
  const std::vector<TapRun> runs = tap_runs(g);
  EXPECT_EQ(runs.size(), 4u * 9 - 2 * 3);  // rows 0 and 3 have a kernel row in the padding
  std::vector<PixelSum> sums;
  for (const TapRun& run : runs) sums.push_back({run.y_pixel, run.x_pixel, run.tap, run.length});
  const PixelPlan plan = plan_pixels(sums, 4, 4);
  ASSERT_EQ(plan.sums.size(), runs.size());
  EXPECT_TRUE(plan.untouched.empty());
  for (const PixelSum& sum : plan.sums) {
    if (sum.first || sum.last) EXPECT_EQ(sum.length, 4);
  }
  EXPECT_EQ(std::count_if(plan.sums.begin(), plan.sums.end(), [](const PixelSum& s) { return s.first; }), 4);
}

TEST(PixelRuns, pixels_between_strides_are_untouched) {
  std::vector<PixelSum> sums = {{0, 0, 0, 1}, {2, 1, 0, 1}};
  const PixelPlan plan = plan_pixels(sums, 2, 3);
  EXPECT_EQ(plan.untouched, (std::vector<int64_t>{1, 3, 4, 5}));
  for (const PixelSum& sum : plan.sums) EXPECT_TRUE(sum.first && sum.last);
}

}  // namespace
}  // namespace sheaf::test
