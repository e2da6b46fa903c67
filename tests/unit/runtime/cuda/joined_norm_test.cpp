// The kernels of batch norms that are joined with convolutions, run from their PTX, against loops in double.
#include "runtime/cuda/channel_sums.h"
#include "runtime/cuda/vector_norm.h"
#include "tests/unit/runtime/cuda/own_kernel_bench.h"

#include <cmath>

namespace sheaf::cuda {
namespace {

using Half = _Float16;

class JoinedNorm : public OwnKernelTest {
 protected:
  static constexpr size_t kRows = 90, kChannels = 72;
  const Dims dims_ = {6, int64_t(kChannels), 3, 5};
  const double eps_ = 1e-5;
  const std::vector<float> weight_ = random_values<float>(kChannels, 4), bias_ = random_values<float>(kChannels, 5),
                           x_bias_ = random_values<float>(kChannels, 6);

  BatchNormCall norm() const {
    BatchNormCall call;
    call.dtype = DType::float16;
    call.dims = dims_;
    call.channels_last = true;
    call.eps = float(eps_);
    return call;
  }
};

TEST_F(JoinedNorm, StatisticsFromSums) {
  std::vector<float> sums(2 * kChannels);
  std::vector<double> mean(kChannels), var(kChannels);
  for (size_t c = 0; c < kChannels; ++c) {
    mean[c] = double(c) / 9 - 3;
    var[c] = c == 5 ? 0 : 0.5 + double(c % 7);
    sums[c] = float(mean[c] * kRows);
    sums[kChannels + c] = float((var[c] + mean[c] * mean[c]) * kRows);
  }
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    StatisticsCall call{.dtype = dtype,
                        .channels = int64_t(kChannels),
                        .values = int64_t(kRows),
                        .eps = float(eps_),
                        .sums = {0, 0},
                        .x_bias = {1, 0},
                        .weight = {2, 0},
                        .bias = {3, 0},
                        .mean = {4, 0},
                        .var = {5, 0},
                        .moments = {6, 0},
                        .factors = {7, 0}};
    std::vector<KernelCall> calls;
    calls.push_back(statistics_call(*kernels_, call));
    const auto made =
        run(std::move(calls), {bytes_of(sums), bytes_of(x_bias_), bytes_of(weight_), bytes_of(bias_)},
            {Bytes(kChannels * 4), Bytes(kChannels * 4), Bytes(kChannels * 8), Bytes(kChannels * 2 * size_of(dtype))}, 0);
    const auto means = values_of<float>(made[0]), vars = values_of<float>(made[1]), moments = values_of<float>(made[2]);
    for (size_t c = 0; c < kChannels; ++c) {
      const double inverse = 1 / std::sqrt(double(vars[c]) + eps_);
      EXPECT_NEAR(means[c], mean[c] + x_bias_[c], 2e-6);
      EXPECT_NEAR(vars[c], var[c], 3e-6);
      EXPECT_GE(vars[c], 0) << "also where rounding would have made it negative";
      EXPECT_NEAR(moments[c], mean[c], 1e-6);
      EXPECT_NEAR(moments[kChannels + c], inverse, 1e-5 * inverse);
      if (dtype != DType::float16) continue;
      const auto factors = values_of<Half>(made[3]);
      const double scale = inverse * weight_[c];
      EXPECT_NEAR(float(factors[c]), scale, std::abs(scale) / 2048 + 1e-7);
      const double shift = bias_[c] - mean[c] * float(factors[c]);
      EXPECT_NEAR(float(factors[kChannels + c]), shift, std::abs(shift) / 2048 + 1e-5 * std::abs(scale)) << c;
    }
    // Without factors and moments the rest is the same.
    call.moments = call.factors = call.x_bias = {};
    calls.clear();
    calls.push_back(statistics_call(*kernels_, call));
    const auto fewer =
        run(std::move(calls), {bytes_of(sums), bytes_of(x_bias_), bytes_of(weight_), bytes_of(bias_)}, {made[0], made[1]}, 0);
    EXPECT_EQ(fewer[1], made[1]);
    EXPECT_EQ(fewer[0], bytes_of(std::vector<float>(moments.begin(), moments.begin() + kChannels)));
  }
}

TEST_F(JoinedNorm, OnePassByStatisticsThatAreThere) {
  const auto x = random_values<Half>(kRows * kChannels, 1, 3), residual = random_values<Half>(x.size(), 2);
  const auto mean = random_values<float>(kChannels, 7, 3);
  std::vector<float> var(kChannels);
  for (size_t c = 0; c < kChannels; ++c) var[c] = 0.5F + float(c % 5);
  for (const bool added : {false, true}) {
    BatchNormCall call = norm();
    call.relu = call.given = true;
    call.x = {0, 0};
    call.weight = {1, 0};
    call.bias = {2, 0};
    call.x_bias = {3, 0};
    call.mean = {4, 0};
    call.var = {5, 0};
    if (added) call.residual = {6, 0};
    call.y = {7, 0};
    call.mask = {8, 0};
    std::vector<KernelCall> calls;
    size_t scratch = 0;
    const NormWork work = add_batch_norm_train(calls, kernels_.get(), call, scratch);
    EXPECT_EQ(work.launches, 1);
    EXPECT_EQ(work.bytes_again, 0);
    EXPECT_EQ(scratch, 0U);
    const auto made = run(
        std::move(calls),
        {bytes_of(x), bytes_of(weight_), bytes_of(bias_), bytes_of(x_bias_), bytes_of(mean), bytes_of(var), bytes_of(residual)},
        {Bytes(x.size() * 2), Bytes(x.size() / 8)}, scratch);
    const auto y = values_of<Half>(made[0]);
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = i % kChannels;
      double value = (double(float(x[i])) - (double(mean[c]) - x_bias_[c])) / std::sqrt(var[c] + eps_) * weight_[c] + bias_[c];
      if (added) value += float(residual[i]);
      ASSERT_NEAR(float(y[i]), std::max(value, 0.0), 1e-3 * (1 + std::abs(value))) << i;
      ASSERT_EQ((made[1][i / 8] >> (i % 8) & std::byte(1)) != std::byte(0), float(y[i]) > 0) << i;
    }
  }
}

TEST_F(JoinedNorm, GradientBySlopes) {
  const auto x = random_values<Half>(kRows * kChannels, 1, 3), dy = random_values<Half>(x.size(), 2);
  const auto slopes = random_values<float>(3 * kChannels, 3);
  BatchNormCall call = norm();
  call.x = {0, 0};
  call.dy = {1, 0};
  call.slopes = {2, 0};
  call.dx = {3, 0};
  std::vector<KernelCall> calls;
  size_t scratch = 0;
  const NormWork work = add_batch_norm_backward(calls, kernels_.get(), call, scratch);
  EXPECT_EQ(work.launches, 1);
  EXPECT_EQ(work.bytes_again, 0);
  const auto dx =
      values_of<Half>(run(std::move(calls), {bytes_of(x), bytes_of(dy), bytes_of(slopes)}, {Bytes(x.size() * 2)}, scratch)[0]);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % kChannels;
    const double value =
        double(float(dy[i])) * slopes[c] + double(float(x[i])) * slopes[kChannels + c] + slopes[2 * kChannels + c];
    ASSERT_NEAR(float(dx[i]), value, 1e-3 * (1 + std::abs(value))) << i;
  }
}

}  // namespace
}  // namespace sheaf::cuda
