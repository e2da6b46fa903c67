// Batch norm in the project's own loops over rows of channels (runtime/cpu/ops/batch_norm_rows.h), against loops in double precision.
#include "draw.h"
#include "reference.h"
#include "reference_training.h"
#include "runtime/cpu/norm/kernels.h"
#include "runtime/cpu/ops/elements.h"
#include "runtime/machine/isa.h"
#include "training_runner.h"

#include "runtime/plan/op_list.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sheaf::test {
namespace {

const Json kNormWithRelu = {{"eps", 1e-5}, {"activation", {{"kind", "relu"}}}}, kNormAlone = {{"eps", 1e-5}};

/// Rows of several groups, the last one not whole; as many channels as make a strip of several registers and some of one.
constexpr int64_t kRows = 5003, kChannels = 208;

struct Norm {
  Draw draw{11};
  bool relu = true;
  int threads = 1;
  Tensor x, weight, bias, dy;

  explicit Norm(bool relu, int64_t rows = kRows, float mean = 3) : relu(relu) {
    x = draw.tensor({rows, kChannels}, 2);
    for (float& value : x.data) value += mean;
    weight = draw.tensor({kChannels});
    bias = draw.tensor({kChannels});
    dy = draw.tensor({rows, kChannels});
  }
  StepCase training() const {
    StepCase step;
    step.op = Op::batch_norm_train;
    step.attributes = relu ? kNormWithRelu : kNormAlone;
    step.operands = {{"x", x}, {"weight", weight}, {"bias", bias}};
    step.outputs = {x.dims, {kChannels}, {kChannels}};
    return step;
  }
  /// `y`: for the reference, where the ReLU was closed.
  StepCase gradient(const Tensor& mean, const Tensor& var, const Tensor* y = nullptr) const {
    StepCase step;
    step.op = Op::batch_norm_backward;
    step.attributes = relu ? kNormWithRelu : kNormAlone;
    step.operands = {{"x", x}, {"dy", dy}, {"mean", mean}, {"var", var}, {"weight", weight}};
    if (y) step.operands.push_back({"y", *y});
    step.outputs = {x.dims, {kChannels}, {kChannels}};
    return step;
  }
  TrainingStep run_of(const StepCase& c) const {
    TrainingStep step;
    step.op = c.op;
    for (const Operand& operand : c.operands) step.operands.emplace_back(operand.role, store(operand.value));
    step.attributes = c.attributes;
    step.outputs = c.outputs;
    step.threads = threads;
    return step;
  }
  /// y, mean, var, and a workspace with a ReLU.
  TrainingRun forward() const {
    TrainingStep step = run_of(training());
    if (relu) {
      step.outputs.push_back({1});
      step.workspace = 3;
    }
    auto run = run_training(step);
    EXPECT_TRUE(bool(run)) << to_string(run.error());
    return run ? *run : TrainingRun();
  }
  TrainingRun backward(const TrainingRun& made, bool in_place = false) const {
    TrainingStep step = run_of(gradient(plain(made.outputs[1]), plain(made.outputs[2])));
    if (relu) step.operands.emplace_back("workspace", made.outputs[3]);
    step.in_place = in_place;
    auto run = run_training(step);
    EXPECT_TRUE(bool(run)) << to_string(run.error());
    return run ? *run : TrainingRun();
  }
};

class BatchNormRows : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!has_avx2()) GTEST_SKIP() << "this CPU has none of the instructions";
  }
};

void expect_own(const TrainingRun& run) { EXPECT_NE(run.implementation.find("rows of channels"), std::string::npos); }

TEST_P(BatchNormRows, AgreesWithLoops) {
  Norm norm(GetParam());
  for (const int threads : {1, 3}) {
    norm.threads = threads;
    const TrainingRun made = norm.forward();
    expect_own(made);
    const auto expected = reference_training(norm.training());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_LT(relative_error(plain(made.outputs[i]), expected[i]), 2e-6) << i;
    const Tensor y = plain(made.outputs[0]);
    const auto gradients =
        reference_training(norm.gradient(plain(made.outputs[1]), plain(made.outputs[2]), norm.relu ? &y : nullptr));
    for (const bool in_place : {false, true}) {
      const TrainingRun run = norm.backward(made, in_place);
      expect_own(run);
      for (size_t i = 0; i < gradients.size(); ++i) EXPECT_LT(relative_error(plain(run.outputs[i]), gradients[i]), 1e-5) << i;
    }
  }
}

TEST_P(BatchNormRows, HasTheSameBitsWithAnyNumberOfThreads) {
  Norm norm(GetParam());
  const TrainingRun alone = norm.forward(), back = norm.backward(alone);
  for (const int threads : {2, 3, 7}) {
    norm.threads = threads;
    const TrainingRun made = norm.forward(), run = norm.backward(made);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(plain(made.outputs[i]).data, plain(alone.outputs[i]).data) << i << ", " << threads << " threads";
      EXPECT_EQ(plain(run.outputs[i]).data, plain(back.outputs[i]).data) << i << ", " << threads << " threads";
    }
  }
}

/// A sum of squares would lose all digits of the variance.
TEST_P(BatchNormRows, AMeanOfThousandsDoesNotHarmTheVariance) {
  const Norm norm(GetParam(), kRows, 5000);
  const TrainingRun made = norm.forward();
  const auto expected = reference_training(norm.training());
  EXPECT_LT(relative_error(plain(made.outputs[2]), expected[2]), 1e-4);
}

TEST_P(BatchNormRows, TwoRows) {
  const Norm norm(GetParam(), 2);
  const TrainingRun made = norm.forward();
  const auto expected = reference_training(norm.training());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_LT(relative_error(plain(made.outputs[i]), expected[i]), 1e-5) << i;
}

TEST_P(BatchNormRows, NanStaysInItsChannel) {
  Norm norm(GetParam());
  norm.x.data[5 * kChannels + 70] = NAN;
  const TrainingRun made = norm.forward(), run = norm.backward(made);
  const Tensor y = plain(made.outputs[0]), dx = plain(run.outputs[0]);
  for (const Tensor* of : {&y, &dx})
    for (int64_t row : {int64_t(0), int64_t(5), kRows - 1}) {
      EXPECT_TRUE(std::isnan(of->data[size_t(row * kChannels + 70)])) << row;
      EXPECT_FALSE(std::isnan(of->data[size_t(row * kChannels + 69)])) << row;
    }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutRelu, BatchNormRows, testing::Bool(),
                         [](const auto& info) { return info.param ? "relu" : "plain"; });

#if defined(__x86_64__)
std::vector<uint16_t> halves(const std::vector<float>& values) {
  std::vector<uint16_t> result;
  for (const float value : values) result.push_back(BFloat16(value).bits);
  return result;
}

/// What a table of bf16 makes of values is what that of f32 makes of them, rounded.
void expect_rounded(const norm::KernelTable& wide, const norm::KernelTable& narrow) {
  constexpr int64_t kFew = 37;
  Draw draw{5};
  const Tensor x = rounded_to_bf16(draw.tensor({kFew, kChannels})), dy = rounded_to_bf16(draw.tensor({kFew, kChannels}));
  const auto narrow_x = halves(x.data), narrow_dy = halves(dy.data);
  const size_t values = x.data.size(), channels = kChannels;
  std::vector<float> mean(channels), squares(channels), narrow_mean(channels), narrow_squares(channels);
  wide.statistics(x.data.data(), kFew, kChannels, 0, mean.data(), squares.data());
  narrow.statistics(narrow_x.data(), kFew, kChannels, 0, narrow_mean.data(), narrow_squares.data());
  EXPECT_EQ(mean, narrow_mean);
  EXPECT_EQ(squares, narrow_squares);
  const std::vector<float> scale = draw.tensor({kChannels}).data, shift = draw.tensor({kChannels}).data;
  const norm::Affine affine = {mean.data(), scale.data(), shift.data()};
  for (const bool relu : {false, true}) {
    Tensor y({kFew, kChannels}), dx({kFew, kChannels});
    std::vector<uint16_t> narrow_y(values), narrow_dx(values);
    wide.normalise(x.data.data(), y.data.data(), kFew, kChannels, affine, relu);
    narrow.normalise(narrow_x.data(), narrow_y.data(), kFew, kChannels, affine, relu);
    EXPECT_EQ(halves(rounded_to_bf16(y).data), narrow_y);
    std::vector<float> sum(channels, 1), product(channels, 2), narrow_sum(channels, 1), narrow_product(channels, 2);
    wide.add_sums(x.data.data(), dy.data.data(), kFew, kChannels, affine, relu, sum.data(), product.data());
    narrow.add_sums(narrow_x.data(), narrow_dy.data(), kFew, kChannels, affine, relu, narrow_sum.data(), narrow_product.data());
    EXPECT_EQ(sum, narrow_sum);
    EXPECT_EQ(product, narrow_product);
    wide.gradient(x.data.data(), dy.data.data(), dx.data.data(), kFew, kChannels, affine, sum.data(), product.data(), relu);
    narrow.gradient(narrow_x.data(), narrow_dy.data(), narrow_dx.data(), kFew, kChannels, affine, sum.data(), product.data(),
                    relu);
    EXPECT_EQ(halves(rounded_to_bf16(dx).data), narrow_dx);
  }
}

TEST(BatchNormRowsKernels, Bf16IsF32Rounded) {
  if (!has_avx2()) GTEST_SKIP() << "this CPU has none of the instructions";
  expect_rounded(norm::v3::f32, norm::v3::bf16);
  if (has_avx512()) expect_rounded(norm::v4::f32, norm::v4::bf16);
}

TEST(BatchNormRowsKernels, AreThoseOfTheChannels) {
  if (!has_avx512()) GTEST_SKIP() << "this CPU has one table";
  EXPECT_EQ(norm::kernels_of(DType::float32, 48), &norm::v4::f32);
  EXPECT_EQ(norm::kernels_of(DType::bfloat16, 24), &norm::v3::bf16);
  EXPECT_EQ(norm::kernels_of(DType::float32, 20), nullptr);
}
#endif

}  // namespace
}  // namespace sheaf::test
