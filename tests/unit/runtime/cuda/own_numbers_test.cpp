// The numbers of bytes, looked up by the kernel's PTX, against a plain loop: the same bits, rounded where they are narrow.
#include "runtime/cpu/ops/elements.h"
#include "tests/ptx/float_formats.h"
#include "tests/unit/runtime/cuda/own_kernel_bench.h"

namespace sheaf::cuda {
namespace {

struct Float16 {
  uint16_t bits;

  Float16() = default;
  explicit Float16(float x) : bits(ptx::double_to_half(x)) {}
  explicit operator float() const { return ptx::half_to_float(bits); }
};

class OwnNumbers : public OwnKernelTest {
 protected:
  void check(const Dims& dims, size_t channels, size_t shift = 0) {
    check_of<float>(DType::float32, dims, channels, shift);
    check_of<BFloat16>(DType::bfloat16, dims, channels, shift);
    check_of<Float16>(DType::float16, dims, channels, shift);
  }

  template <typename T>
  void check_of(DType dtype, const Dims& dims, size_t channels, size_t shift) {
    std::vector<float> numbers = random_values<float>(channels * 256, 5);
    numbers[9] = INFINITY;
    numbers[14] = 1e6F;  // beyond f16
    const auto count = static_cast<size_t>(product(dims, 0, dims.size()));
    std::vector<uint8_t> x(count);
    for (size_t i = 0; i < count; ++i) x[i] = static_cast<uint8_t>(i * 167 + i / 256);
    const TensorSpec from = plain_tensor(DType::uint8, dims), to = plain_tensor(dtype, dims);
    Prepared prepared = prepare_own_numbers(from, to, numbers, kernels_);
    const auto y = values_of<T>(run(prepared, {bytes_of(x)}, {Bytes(count * sizeof(T))}, nullptr, shift)[0]);
    const auto inner = static_cast<size_t>(product(dims, 2, dims.size()));
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(float(y[i]), float(T(numbers[i / inner % channels * 256 + x[i]])))
          << name_of(dtype) << ' ' << to_string(dims) << " + " << shift << ", " << i;
  }
};

TEST_F(OwnNumbers, OfChannels) {
  for (const Dims& dims :
       {Dims{2, 3, 4, 4}, Dims{5, 3, 5, 7}, Dims{1000, 3}, Dims{1, 3, 1, 1}, Dims{3, 3, 63, 64}, Dims{0, 3, 4, 4}})
    for (const size_t shift : {0, 4}) check(dims, 3, shift);
}

TEST_F(OwnNumbers, OfAllElementsAlike) {
  for (const Dims& dims : {Dims{1}, Dims{7}, Dims{16, 5}, Dims{9, 1, 28, 28}, Dims{20'011}})
    for (const size_t shift : {0, 4}) check(dims, 1, shift);
}

TEST_F(OwnNumbers, RefuseOtherTensors) {
  const auto spec = [](DType dtype, const Dims& dims) { return plain_tensor(dtype, dims); };
  const std::vector<float> one(256), three(768), four(1024), odd(300);
  const auto prepare = [&](const TensorSpec& from, const TensorSpec& to, const std::vector<float>& numbers) {
    return prepare_own_numbers(from, to, numbers, kernels_);
  };
  const TensorSpec bytes = spec(DType::uint8, {2, 3}), numbers = spec(DType::float32, {2, 3});
  EXPECT_NO_THROW(prepare(bytes, numbers, three));
  EXPECT_THROW(prepare(numbers, numbers, one), OperationError);
  EXPECT_THROW(prepare(bytes, spec(DType::int32, {2, 3}), one), OperationError);
  EXPECT_THROW(prepare(bytes, spec(DType::float32, {3, 2}), one), OperationError);
  EXPECT_THROW(prepare(bytes, numbers, odd), OperationError);
  EXPECT_THROW(prepare(spec(DType::uint8, {2, 4}), spec(DType::float32, {2, 4}), four), OperationError);
  EXPECT_THROW(prepare(spec(DType::uint8, {2, 4}), spec(DType::float32, {2, 4}), three), OperationError);
}

}  // namespace
}  // namespace sheaf::cuda
