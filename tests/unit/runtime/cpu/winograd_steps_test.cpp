// Winograd convolutions and their gradients (runtime/cpu/ops/conv_winograd.h) as steps, against loops in double precision. A
// loop computes only some images and channels of a result; the poison in its buffer reveals whether all of it was written.
#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/draw.h"
#include "tests/unit/runtime/cpu/reference.h"
#include "tests/unit/runtime/cpu/reference_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace sheaf::test {
namespace {

constexpr double result_rounding = 0x1p-8;  ///< of a result to bf16, relative to the largest

/// first, first + step, … of a dimension.
struct Some {
  int64_t first = 0, step = 1;
};

Tensor some_of(const Tensor& tensor, size_t axis, Some some) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < axis; ++i) outer *= tensor.dims[i];
  for (size_t i = axis + 1; i < tensor.dims.size(); ++i) inner *= tensor.dims[i];
  Tensor result;
  result.dims = tensor.dims;
  result.dims[axis] = 0;
  for (int64_t i = some.first; i < tensor.dims[axis]; i += some.step) ++result.dims[axis];
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = some.first; j < tensor.dims[axis]; j += some.step) {
      const auto from = tensor.data.begin() + (i * tensor.dims[axis] + j) * inner;
      result.data.insert(result.data.end(), from, from + inner);
    }
  }
  return result;
}

/// Which parts of a tensor are compared: axis by axis.
using Parts = std::vector<std::pair<size_t, Some>>;

Tensor parts_of(Tensor tensor, const Parts& parts) {
  for (const auto& [axis, some] : parts) tensor = some_of(tensor, axis, some);
  return tensor;
}

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

struct Shapes {
  Dims x, weight, y;
  Json attributes;
};

Shapes shapes_of(Dims x, int64_t out, Dims begin, Dims end) {
  return {x,
          {out, x[1], 3, 3},
          {x[0], out, x[2] + begin[0] + end[0] - 2, x[3] + begin[1] + end[1] - 2},
          {{"stride", {1, 1}}, {"padding_begin", begin}, {"padding_end", end}, {"dilation", {1, 1}}, {"groups", 1}}};
}

Shapes draw_shapes(Draw& draw) {
  const int64_t height = draw.number(4, 15), width = draw.number(4, 15), most = std::min<int64_t>(37, 1500 / (height * width));
  const int64_t images = draw.chance(70) ? most : draw.number(1, most), in = 16 * draw.number(2, 5),
                out = 16 * draw.number(2, 5);
  return shapes_of({images, in, height, width}, out, draw.numbers(2, 0, 2), draw.numbers(2, 0, 2));
}

/// y, dx, dweight; some of the channels of each and, where images are separate, some images.
std::vector<Pass> passes(const Shapes& s, Draw& draw, Some images, Some channels) {
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

bool has_winograd(bool bf16) { return bf16 ? has_bf16() : has_avx2(); }
bool is_winograd(const StepRun& run) { return run.implementation.find("winograd") != std::string::npos; }

/// Operands of a gradient may be rounded to bf16 once they are transformed: 1% of the result, several in a few places.
void expect_within_transformed_rounding(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.dims, expected.dims);
  double squares = 0, differences = 0, largest = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double difference = double(actual.data[i]) - expected.data[i];
    squares += double(expected.data[i]) * expected.data[i];
    differences += difference * difference;
    largest = std::max(largest, std::isnan(difference) ? HUGE_VAL : std::fabs(difference));
  }
  EXPECT_LE(std::sqrt(differences), 0.02 * std::sqrt(squares));
  EXPECT_LE(largest, 0.12 * std::sqrt(squares / double(expected.size())));
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dims == b.dims && std::memcmp(a.data.data(), b.data.data(), a.data.size() * sizeof(float)) == 0;
}

void prepare(Pass& pass, bool bf16) {
  pass.step.fast = true;
  pass.step.bf16 = bf16;
  pass.step.candidate = "winograd";
  if (!bf16) return;
  for (Operand& operand : pass.step.operands) {
    if (operand.role != "bias") operand.value = rounded_to_bf16(std::move(operand.value));
    operand.constant = false;  // as in training: in inference few images are computed another way
  }
}

std::string describe(const StepCase& c) {
  return to_string(c.op) + Json(c.operands[0].value.dims).dump() + Json(c.operands[1].value.dims).dump() + c.attributes.dump() +
         (c.bf16 ? " bf16, " : ", ") + std::to_string(c.threads) + " threads";
}

/// All of it is written, and the compared part agrees with the loops.
void check(const Pass& pass) {
  const bool bf16 = pass.step.bf16, forward = pass.step.op == Op::conv;
  SCOPED_TRACE(describe(pass.step));
  const auto run = run_step(pass.step);
  ASSERT_TRUE(bool(run)) << to_string(run.error());
  SCOPED_TRACE(run->implementation);
  if (has_winograd(bf16)) EXPECT_TRUE(is_winograd(*run));
  const std::vector<Tensor> expected = pass.expected();
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor actual = parts_of(run->outputs[i], pass.outputs[i]);
    if (bf16 && !forward && i == 0) expect_within_transformed_rounding(actual, expected[i]);
    else EXPECT_LE(relative_error(actual, expected[i]), 1e-4 + (bf16 && forward ? result_rounding : 0)) << "output " << i;
    for (const float value : run->outputs[i].data) ASSERT_TRUE(std::isfinite(value)) << "output " << i;
  }
}

class WinogradSteps : public testing::TestWithParam<uint32_t> {};

TEST_P(WinogradSteps, agree_with_loops) {
  Draw draw(GetParam());
  const Shapes s = draw_shapes(draw);
  for (Pass& pass : passes(s, draw, {0, 2}, {draw.number(0, 4), 5})) {
    for (const bool bf16 : {false, true}) {
      pass.step.threads = draw.one_of({1, 1, 2, 2, 3, 4, 5});
      prepare(pass, bf16);
      if (!bf16 || has_bf16()) check(pass);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, WinogradSteps, testing::Range(1u, 17u));

TEST(WinogradSteps, any_number_of_threads_makes_the_same_bits) {
  if (!has_winograd(false)) GTEST_SKIP() << "this CPU has no AVX2";
  Draw draw(2);
  for (const Dims& x : {Dims{5, 32, 9, 14}, Dims{17, 80, 6, 7}}) {
    for (Pass& pass : passes(shapes_of(x, 48, {1, 0}, {1, 2}), draw, {}, {})) {
      for (const bool bf16 : {false, true}) {
        if (bf16 && !has_bf16()) continue;
        prepare(pass, bf16);
        std::vector<Tensor> first;
        for (const int threads : {1, 2, 3, 4}) {
          pass.step.threads = threads;
          SCOPED_TRACE(describe(pass.step));
          const auto run = run_step(pass.step);
          ASSERT_TRUE(bool(run)) << to_string(run.error());
          EXPECT_TRUE(is_winograd(*run)) << run->implementation;
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
  for (Pass& pass : passes(shapes_of({290, 272, 4, 4}, 256, {1, 1}, {1, 1}), draw, {1, 37}, {3, 41})) {
    pass.step.threads = 2;
    prepare(pass, false);
    check(pass);
  }
}

TEST(WinogradSteps, strict_numerics_have_none) {
  Draw draw(1);
  for (Pass& pass : passes(shapes_of({8, 64, 8, 8}, 64, {1, 1}, {1, 1}), draw, {}, {})) {
    for (const bool bf16 : {false, true}) {
      if (bf16 && !has_bf16()) continue;
      pass.step.bf16 = bf16;
      EXPECT_THAT(run_step(pass.step)->implementation, testing::Not(testing::HasSubstr("wino"))) << to_string(pass.step.op);
    }
  }
}

}  // namespace
}  // namespace sheaf::test
