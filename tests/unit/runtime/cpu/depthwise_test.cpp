// Gradients of depthwise convolutions by weight, channels last: all ways in which padding, stride, dilation and the kernel's size can keep
// pixels from meeting, against loops in double precision.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "runtime/cpu/depthwise/kernels.h"
#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/draw.h"
#include "tests/unit/runtime/cpu/reference_training.h"

namespace sheaf::test {
namespace {

StepCase draw_step(Draw& draw) {
  const int64_t channels = draw.one_of<int64_t>({8, 16, 48, 72});
  Dims x = {draw.number(1, 5), channels}, y = x, weight = {channels, 1}, stride, dilation, begin, end;
  const int64_t dims = draw.number(1, 2);
  for (int64_t i = 0; i < dims; ++i) {
    weight.push_back(draw.number(1, 11));
    stride.push_back(draw.number(1, 3));
    dilation.push_back(draw.one_of<int64_t>({1, 1, 2, 3}));
    begin.push_back(draw.number(0, 6));
    end.push_back(draw.chance(30) ? draw.number(0, 6) : begin.back());
    const int64_t reach = (weight.back() - 1) * dilation.back() + 1;
    x.push_back(std::max<int64_t>(draw.one_of<int64_t>({1, 5, 9, 24}), reach - begin.back() - end.back()));
    y.push_back((x.back() + begin.back() + end.back() - reach) / stride.back() + 1);
  }
  StepCase step{Op::conv_backward_weight, {{"x", draw.tensor(x)}, {"dy", draw.tensor(y)}}, {}, {weight}};
  step.attributes = {
      {"stride", stride}, {"dilation", dilation}, {"padding_begin", begin}, {"padding_end", end}, {"groups", channels}};
  step.attributes["kernel_size"] = Dims(weight.begin() + 2, weight.end());
  step.attributes["bias"] = draw.chance(50);
  if (step.attributes["bias"]) step.outputs.push_back({channels});
  step.candidate = "depthwise";
  return step;
}

bool has_depthwise_kernels() { return depthwise::kernels_of(DType::float32, 8); }

class DepthwiseCandidates : public testing::TestWithParam<bool> {};

TEST_P(DepthwiseCandidates, agree_with_loops_by_any_number_of_threads) {
  if (!has_depthwise_kernels()) GTEST_SKIP() << "this CPU has no AVX2";
  if (GetParam() && !has_bf16()) GTEST_SKIP() << "this CPU doesn't multiply bf16";
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    Draw draw(seed);
    StepCase step = draw_step(draw);
    step.bf16 = GetParam();
    if (step.bf16)
      for (Operand& operand : step.operands) operand.value = rounded_to_bf16(std::move(operand.value));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + step.attributes.dump());
    const auto expected = reference_training(step);
    const auto alone = run_step(step);
    ASSERT_TRUE(bool(alone)) << to_string(alone.error());
    EXPECT_EQ(alone->candidate, "depthwise");
    step.threads = 3;
    const auto together = run_step(step);
    ASSERT_TRUE(bool(together)) << to_string(together.error());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LE(relative_error(alone->outputs[i], expected[i]), 2e-5) << "output " << i;
      EXPECT_EQ(alone->outputs[i].data, together->outputs[i].data) << "output " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(of, DepthwiseCandidates, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "bf16" : "f32"); });

/// dy's NaN reaches the taps under which its pixel meets one of x, and no others: 3 wide, its first pixel's first tap is padding.
TEST(DepthwiseCandidates, nan_reaches_what_it_is_a_term_of) {
  if (!has_depthwise_kernels()) GTEST_SKIP() << "this CPU has no AVX2";
  Draw draw(1);
  StepCase step{Op::conv_backward_weight, {{"x", draw.tensor({1, 16, 8})}, {"dy", draw.tensor({1, 16, 8})}}, {}, {{16, 1, 3}}};
  step.attributes = {{"padding_begin", {1}}, {"padding_end", {1}}, {"groups", 16}, {"kernel_size", {3}}};
  step.candidate = "depthwise";
  step.operands[1].value.data[5 * 8] = std::numeric_limits<float>::quiet_NaN();
  const auto run = run_step(step);
  ASSERT_TRUE(bool(run)) << to_string(run.error());
  for (int64_t channel = 0; channel < 16; ++channel)
    for (int64_t tap = 0; tap < 3; ++tap)
      EXPECT_EQ(std::isnan(run->outputs[0].data[size_t(channel * 3 + tap)]), channel == 5 && tap > 0) << channel << ", " << tap;
}

/// Where no CPU at hand multiplies bf16, too: its values are those of f32 with 16 bits of zeros after them.
TEST(DepthwiseKernels, of_bf16_add_the_values_it_stands_for) {
  using depthwise::KernelTable, depthwise::Window;
  std::vector<std::pair<const KernelTable*, const KernelTable*>> tables;
#if defined(__x86_64__)
  if (has_avx2()) tables.emplace_back(&depthwise::v3::f32, &depthwise::v3::bf16);
  if (has_avx512()) tables.emplace_back(&depthwise::v4::f32, &depthwise::v4::bf16);
#endif
  const std::vector<Window::Range> met = {{1, 9}, {1, 9}, {0, 9}, {0, 8}, {0, 8}};
  const Window window{{7, 7, 5, 1, 1, 2}, {18, 9, 5, 2, 1, 2}, 32, met.data()};
  Draw draw(1);
  const auto narrowed = [](const Tensor& tensor) {
    std::vector<uint16_t> halves;
    for (const float value : tensor.data) halves.push_back(uint16_t(std::bit_cast<uint32_t>(value) >> 16));
    return halves;
  };
  const Tensor x = rounded_to_bf16(draw.tensor({7, 18, 32})), dy = rounded_to_bf16(draw.tensor({7, 9, 32}));
  for (const auto& [f32, bf16] : tables) {
    std::vector<float> rows(size_t(f32->row_floats(window))), wide(size_t((window.taps() + 1) * f32 -> lanes)),
        narrow(wide.size());
    const auto add = [&](const KernelTable& table, const void* of_x, const void* of_dy, std::vector<float>& sums) {
      table.add_rows(of_x, of_dy, window, 0, 7, 16, rows.data(), sums.data(), sums.data() + window.taps() * table.lanes);
    };
    add(*f32, x.data.data(), dy.data.data(), wide);
    add(*bf16, narrowed(x).data(), narrowed(dy).data(), narrow);
    EXPECT_EQ(wide, narrow) << f32->instructions;
    EXPECT_NE(wide.front(), 0) << f32->instructions;
  }
}

}  // namespace
}  // namespace sheaf::test
