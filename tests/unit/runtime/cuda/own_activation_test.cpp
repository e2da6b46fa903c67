// Activations by the project's own kernels, run from their PTX, against the standard library's functions.
#include "runtime/cpu/ops/elements.h"
#include "tests/unit/runtime/cuda/own_kernel_bench.h"

#include <cmath>

namespace sheaf::cuda {
namespace {

class OwnActivation : public OwnKernelTest {
 protected:
  static double expected(const KernelActivation& a, double x) {
    switch (a.kind) {
      case KernelActivation::none: return x;
      case KernelActivation::relu: return x > 0 ? x : a.alpha == 0 ? 0 : a.alpha * x;
      case KernelActivation::elu: return x > 0 ? x : a.alpha * std::expm1(x);
      case KernelActivation::silu: return x / (1 + std::exp(-x));
      case KernelActivation::gelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
      case KernelActivation::gelu_tanh:
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
      case KernelActivation::tanh: return std::tanh(x);
      case KernelActivation::sigmoid: return 1 / (1 + std::exp(-x));
      case KernelActivation::hardtanh: return x < a.alpha ? a.alpha : x > a.beta ? a.beta : x;
    }
    return x;
  }
  static KernelActivation named(const Json& activation) {
    Step step;
    step.attributes["activation"] = activation;
    return *kernel_activation_of(step);
  }
  /// y, of that many bytes.
  Bytes activate(const ActivationCall& call, const std::vector<Bytes>& inputs, size_t bytes, size_t shift = 0) {
    std::vector<KernelCall> calls;
    add_activation(calls, *kernels_, call);
    return run(std::move(calls), inputs, {Bytes(bytes)}, 0, shift)[0];
  }
};

const Json kActivations[] = {{{"kind", "relu"}},      {{"kind", "leaky_relu"}, {"negative_slope", 0.2}},
                             {{"kind", "elu"}},       {{"kind", "elu"}, {"alpha", 0.5}},
                             {{"kind", "silu"}},      {{"kind", "gelu"}},
                             {{"kind", "gelu_tanh"}}, {{"kind", "tanh"}},
                             {{"kind", "sigmoid"}},   {{"kind", "hardtanh"}, {"min_val", -0.5}, {"max_val", 2}}};

TEST_F(OwnActivation, EachWithBiasAndResidual) {
  constexpr int64_t kChannels = 5, kInner = 3, kElements = kChannels * kInner * 7;
  const auto x = random_values<float>(kElements, 1), residual = random_values<float>(kElements, 2),
             bias = random_values<float>(kChannels, 3);
  for (const Json& json : kActivations) {
    for (const bool channels_last : {false, true}) {
      ActivationCall call;
      call.x = {0, 0};
      call.bias = {1, 0};
      call.residual = {2, 0};
      call.y = {3, 0};
      call.elements = kElements;
      call.inner = channels_last ? 1 : kInner;
      call.channels = kChannels;
      call.activation = named(json);
      const auto y = values_of<float>(activate(call, {bytes_of(x), bytes_of(bias), bytes_of(residual)}, kElements * 4));
      for (int64_t i = 0; i < kElements; ++i) {
        const float sum = x[size_t(i)] + bias[size_t(i / call.inner % kChannels)] + residual[size_t(i)];
        const double wanted = expected(call.activation, sum);
        EXPECT_NEAR(y[size_t(i)], wanted, 1e-6 * (1 + std::abs(wanted))) << json << " at " << sum;
      }
    }
  }
}

/// Vectors of one channel, of neighbouring channels, of any; several to a thread; what fills none; misaligned tensors.
TEST_F(OwnActivation, BiasesOfEveryKindOfVector) {
  const std::pair<int64_t, int64_t> kChannelsAndInner[] = {{24, 1}, {3, 16}, {5, 1}, {5, 3}, {1, 7}};
  for (const auto [channels, inner] : kChannelsAndInner) {
    for (const size_t shift : {0, 4}) {
      const int64_t elements = channels * inner * 131;
      const auto x = random_values<float>(size_t(elements), 1), bias = random_values<float>(size_t(channels), 3);
      ActivationCall call;
      call.x = {0, 0};
      call.bias = {1, 0};
      call.y = {2, 0};
      call.elements = elements;
      call.inner = inner;
      call.channels = channels;
      call.activation = named({{"kind", "relu"}});
      const auto y = values_of<float>(activate(call, {bytes_of(x), bytes_of(bias)}, size_t(elements) * 4, shift));
      for (int64_t i = 0; i < elements; ++i)
        ASSERT_EQ(y[size_t(i)], std::max(x[size_t(i)] + bias[size_t(i / inner % channels)], 0.0F))
            << channels << " × " << inner << " + " << shift << ", " << i;
    }
  }
}

TEST_F(OwnActivation, KeepsNan) {
  for (const Json& json : kActivations) {
    ActivationCall call;
    call.x = {0, 0};
    call.y = {1, 0};
    call.elements = 2;
    call.activation = named(json);
    const auto y = values_of<float>(activate(call, {bytes_of(std::vector<float>{std::nanf(""), 1})}, 8));
    EXPECT_TRUE(std::isnan(y[0])) << json;
    EXPECT_FALSE(std::isnan(y[1])) << json;
  }
}

TEST_F(OwnActivation, NarrowValuesRoundOnceAtTheEnd) {
  const auto x = random_values<BFloat16>(37, 1);
  const std::vector<float> bias = {0.001F};
  ActivationCall call;
  call.x = {0, 0};
  call.bias = {1, 0};
  call.y = {2, 0};
  call.dtype = DType::bfloat16;
  call.elements = 37;
  std::vector<BFloat16> wanted;
  for (const BFloat16 value : x) wanted.push_back(BFloat16(float(value) + bias[0]));
  for (const size_t shift : {size_t{0}, size_t{4}})
    EXPECT_EQ(activate(call, {bytes_of(x), bytes_of(bias)}, 74, shift), bytes_of(wanted));
}

TEST_F(OwnActivation, UnknownOnesAreErrors) {
  Step step;
  step.attributes["activation"] = {{"kind", "swish2"}};
  EXPECT_THROW((void)kernel_activation_of(step), OperationError);
  step.attributes["activation"] = "relu";
  EXPECT_THROW((void)kernel_activation_of(step), OperationError);
}

}  // namespace
}  // namespace sheaf::cuda
