// Winograd convolutions and their gradients (runtime/cpu/ops/conv_winograd.h) as steps, against loops in double precision. A
// loop computes only some images and channels of a result; the poison in its buffer reveals whether all of it was written.
#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/compared_parts.h"
#include "tests/unit/runtime/cpu/draw.h"
#include "tests/unit/runtime/cpu/reference.h"
#include "tests/unit/runtime/cpu/reference_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace sheaf::test {
namespace {

struct Pass {
  StepCase step;
  std::vector<Parts> operands, outputs;  ///< the parts of an operand on which the parts of outputs depend

  std::vector<Tensor> expected() const {
    StepCase part = step;
    for (size_t i = 0; i < operands.size(); ++i) part.operands[i].value = parts_of(part.operands[i].value, operands[i]);
    for (size_t i = 0; i < outputs.size(); ++i) part.outputs[i] = parts_of(Tensor(step.outputs[i]), outputs[i]).dims;
    return step.op == Op::conv ? reference(part) : reference_training(part);
  }
};

ConvCase winograd_conv(Dims x, int64_t out, Dims begin, Dims end) {
  return {{{"stride", {1, 1}}, {"padding_begin", begin}, {"padding_end", end}, {"dilation", {1, 1}}, {"groups", 1}},
          x,
          {out, x[1], 3, 3},
          {x[0], out, x[2] + begin[0] + end[0] - 2, x[3] + begin[1] + end[1] - 2}};
}

/// Channels and images that are whole units of a split depth.
ConvCase draw_split_conv(Draw& draw) {
  return winograd_conv({32 * draw.number(1, 2), 32 * draw.number(1, 3), draw.number(4, 7), draw.number(4, 7)},
                       32 * draw.number(1, 3), draw.numbers(2, 0, 2), draw.numbers(2, 0, 2));
}

ConvCase draw_winograd_conv(Draw& draw) {
  const int64_t height = draw.number(4, 15), width = draw.number(4, 15), most = std::min<int64_t>(37, 1500 / (height * width));
  const int64_t images = draw.chance(70) ? most : draw.number(1, most), in = 16 * draw.number(2, 5),
                out = 16 * draw.number(2, 5);
  return winograd_conv({images, in, height, width}, out, draw.numbers(2, 0, 2), draw.numbers(2, 0, 2));
}

/// y, dx, dweight; some of the channels of each and, where images are separate, some images.
std::vector<Pass> passes(const ConvCase& s, Draw& draw, Some images, Some channels) {
  const Parts i = {{0, images}}, c = {{1, channels}}, both = {{0, images}, {1, channels}}, c_alone = {{0, channels}};
  Pass forward{
      {Op::conv, {{"x", draw.tensor(s.x)}, {"weight", draw.tensor(s.weight, 0.1), draw.chance(50)}}, s.attributes, {s.y}},
      {i, c_alone},
      {both}};
  if (draw.chance(60)) {
    forward.step.operands.push_back({"bias", draw.tensor({s.y[1]}), true});
    forward.operands.push_back(c_alone);
  }
  if (draw.chance(50)) {
    forward.step.operands.push_back({"residual", draw.tensor(s.y)});
    forward.step.alias_residual = draw.chance(50);
    forward.operands.push_back(both);
  }
  if (draw.chance(60)) forward.step.attributes["activation"] = {{"kind", "relu"}};
  if (draw.chance(30)) forward.step.attributes["activation"] = {{"kind", "leaky_relu"}, {"negative_slope", 0.2}};

  Pass data{{Op::conv_backward_data, {{"dy", draw.tensor(s.y)}, {"weight", draw.tensor(s.weight)}}, s.attributes, {s.x}},
            {i, c},
            {both}};
  data.step.attributes["size"] = {s.x[2], s.x[3]};

  Pass weight{{Op::conv_backward_weight, {{"x", draw.tensor(s.x)}, {"dy", draw.tensor(s.y)}}, s.attributes, {s.weight}},
              {c, c},
              {{{0, channels}, {1, channels}}}};
  weight.step.attributes["kernel_size"] = {3, 3};
  weight.step.attributes["bias"] = draw.chance(50);
  if (weight.step.attributes["bias"]) {
    weight.step.outputs.push_back({s.y[1]});
    weight.outputs.push_back(c_alone);
  }
  return {forward, data, weight};
}

/// What products are of: values of either type, or f32 split into two parts of bf16.
enum class Way { f32, bf16, split };
std::vector<Way> ways() {
  std::vector<Way> here;
  if (has_avx2()) here.push_back(Way::f32);
  if (has_bf16()) here.push_back(Way::bf16);
  if (has_amx()) here.push_back(Way::split);
  return here;
}

bool is_winograd(const StepRun& run) { return run.implementation.find("winograd") != std::string::npos; }

/// The error's root mean square, and its largest, both relative to the root mean square of what is expected.
struct Errors {
  double usual = 0, largest = 0;
};
Errors errors_of(const Tensor& actual, const Tensor& expected) {
  EXPECT_EQ(actual.dims, expected.dims);
  double squares = 0, differences = 0, largest = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double difference = double(actual.data[i]) - expected.data[i];
    squares += double(expected.data[i]) * expected.data[i];
    differences += difference * difference;
    largest = std::max(largest, std::isnan(difference) ? HUGE_VAL : std::fabs(difference));
  }
  return {std::sqrt(differences / squares), largest / std::sqrt(squares / double(expected.size()))};
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dims == b.dims && std::memcmp(a.data.data(), b.data.data(), a.data.size() * sizeof(float)) == 0;
}

void prepare(Pass& pass, Way way) {
  pass.step.fast = true;
  pass.step.bf16 = way == Way::bf16;
  pass.step.candidate = way == Way::split ? "winograd_split" : "winograd";
  if (way != Way::bf16) return;
  for (Operand& operand : pass.step.operands) {
    if (operand.role != "bias") operand.value = rounded_to_bf16(std::move(operand.value));
    operand.constant = false;  // as in training: in inference few images are computed another way
  }
}

/// Whether f32 values can be split: the sums' depth is whole units.
bool splits(const StepCase& step) {
  const bool weight = step.op == Op::conv_backward_weight;
  const Dims &from = step.operands[0].value.dims, &to = step.outputs[0];
  return from[1] % 32 == 0 && to[weight ? 0 : 1] % 32 == 0 && (!weight || from[0] % 32 == 0);
}

/// All of it is written, and the compared part agrees with the loops.
void check(const Pass& pass) {
  const bool bf16 = pass.step.bf16, forward = pass.step.op == Op::conv, split = pass.step.candidate == "winograd_split";
  SCOPED_TRACE(describe(pass.step));
  const auto run = run_step(pass.step);
  ASSERT_TRUE(bool(run)) << to_string(run.error());
  SCOPED_TRACE(run->implementation);
  EXPECT_EQ(run->candidate, pass.step.candidate);
  EXPECT_TRUE(is_winograd(*run));
  const std::vector<Tensor> expected = pass.expected();
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor actual = parts_of(run->outputs[i], pass.outputs[i]);
    if (i == 0 && (split || (bf16 && !forward))) {
      // Operands are rounded once they are transformed, to bf16: 1% of the result, several in a few places; to two parts: 2⁻⁸ of that.
      const Errors errors = errors_of(actual, expected[i]);
      EXPECT_LE(errors.usual, split ? 0.02 / 256 : 0.02);
      EXPECT_LE(errors.largest, split ? 0.12 / 256 : 0.12);
    } else EXPECT_LE(relative_error(actual, expected[i]), 1e-4 + (bf16 && forward ? result_rounding : 0)) << "output " << i;
    for (const float value : run->outputs[i].data) ASSERT_TRUE(std::isfinite(value)) << "output " << i;
  }
}

class WinogradSteps : public testing::TestWithParam<uint32_t> {};

TEST_P(WinogradSteps, agree_with_loops) {
  Draw draw(GetParam());
  const ConvCase s = draw_winograd_conv(draw);
  for (Pass& pass : passes(s, draw, {0, 2}, {draw.number(0, 4), 5})) {
    for (const Way way : ways()) {
      if (way == Way::split) continue;
      pass.step.threads = draw.one_of({1, 1, 2, 2, 3, 4, 5});
      prepare(pass, way);
      check(pass);
    }
  }
}

TEST_P(WinogradSteps, of_split_values_agree_with_loops) {
  if (!has_amx()) GTEST_SKIP() << "this CPU has no AMX";
  Draw draw(GetParam());
  for (Pass& pass : passes(draw_split_conv(draw), draw, {0, 5}, {draw.number(0, 4), 5})) {
    pass.step.threads = draw.one_of({1, 1, 2, 2, 3, 4, 5});
    prepare(pass, Way::split);
    check(pass);
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, WinogradSteps, testing::Range(1u, 17u));

TEST(WinogradSteps, any_number_of_threads_makes_the_same_bits) {
  if (ways().empty()) GTEST_SKIP() << "this CPU has no AVX2";
  Draw draw(2);
  for (const Dims& x : {Dims{5, 32, 9, 14}, Dims{17, 80, 6, 7}, Dims{64, 32, 5, 6}}) {
    for (Pass& pass : passes(winograd_conv(x, x[1] == 32 ? 64 : 48, {1, 0}, {1, 2}), draw, {}, {})) {
      for (const Way way : ways()) {
        if (way == Way::split && !splits(pass.step)) continue;
        prepare(pass, way);
        std::vector<Tensor> first;
        for (const int threads : {1, 2, 3, 4, 9}) {
          pass.step.threads = threads;
          SCOPED_TRACE(describe(pass.step));
          const auto run = run_step(pass.step);
          ASSERT_TRUE(bool(run)) << to_string(run.error());
          EXPECT_EQ(run->candidate, pass.step.candidate);
          if (first.empty()) first = run->outputs;
          for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(same_bits(run->outputs[i], first[i])) << "output " << i;
        }
      }
    }
  }
}

/// Weights beyond the second cache are multiplied by larger blocks.
TEST(WinogradSteps, many_channels_and_images) {
  Draw draw(1);
  for (Pass& pass : passes(winograd_conv({288, 288, 4, 4}, 256, {1, 1}, {1, 1}), draw, {1, 37}, {3, 41})) {
    pass.step.threads = 2;
    for (const Way way : ways()) {
      if (way == Way::bf16) continue;
      prepare(pass, way);
      check(pass);
    }
  }
}

TEST(WinogradSteps, strict_numerics_have_none) {
  Draw draw(1);
  for (Pass& pass : passes(winograd_conv({8, 64, 8, 8}, 64, {1, 1}, {1, 1}), draw, {}, {})) {
    for (const bool bf16 : {false, true}) {
      if (bf16 && !has_bf16()) continue;
      pass.step.bf16 = bf16;
      EXPECT_THAT(run_step(pass.step)->implementation, testing::Not(testing::HasSubstr("wino"))) << to_string(pass.step.op);
    }
  }
}

}  // namespace
}  // namespace sheaf::test
