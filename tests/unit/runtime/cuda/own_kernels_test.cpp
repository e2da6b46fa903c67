// Reorders, sums and the check of the loss by the project's own kernels, run from their PTX, against plain loops.
#include "runtime/cpu/ops/elements.h"
#include "runtime/cuda/channel_sums.h"
#include "runtime/cuda/format.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cuda/own_kernel_bench.h"

#include <cmath>
#include <limits>
#include <random>

namespace sheaf::cuda {
namespace {

using Half = _Float16;

Bytes random_bytes(size_t count) {
  std::mt19937 random(7);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = std::byte(random());
  return bytes;
}

class OwnReorder : public OwnKernelTest {};

/// Each element from its position by strides_of() in one format to that in the other.
Bytes relaid(const TensorSpec& from, const TensorSpec& to, const Bytes& bytes) {
  const auto source = strides_of(from), target = strides_of(to);
  const size_t size = size_of(from.dtype);
  Bytes result(bytes.size());
  std::vector<int64_t> at(from.dims.size(), 0);
  for (int64_t n = 0; n < element_count(from); ++n) {
    int64_t a = 0, b = 0;
    for (size_t d = 0; d < at.size(); ++d) a += at[d] * source[d], b += at[d] * target[d];
    std::memcpy(&result[size_t(b) * size], &bytes[size_t(a) * size], size);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < from.dims[d]) break;
      at[d] = 0;
    }
  }
  return result;
}

TEST_F(OwnReorder, PlainAndChannelsLastBothWays) {
  const std::vector<std::vector<int64_t>> shapes = {{2, 3, 5, 7}, {1, 64, 9},       {4, 17, 33}, {3, 2, 600},
                                                    {2, 600, 2},  {2, 33, 2, 3, 4}, {1, 5, 100}, {3, 40, 3, 3}};
  for (const auto& dims : shapes) {
    for (const DType dtype : {DType::uint8, DType::bfloat16, DType::float32, DType::int64}) {
      const TensorSpec plain = plain_tensor(dtype, dims), last = channels_last(plain);
      ASSERT_TRUE(is_channels_last(last));
      const Bytes bytes = random_bytes(plain.bytes);
      for (const auto& [from, to] : {std::pair(plain, last), std::pair(last, plain)}) {
        auto prepared = prepare_own_reorder(from, to, kernels_);
        ASSERT_TRUE(prepared) << prepared.error().message();
        EXPECT_TRUE(prepared->executable->guardable());
        EXPECT_EQ(run(*prepared, {bytes}, {Bytes(bytes.size())})[0], relaid(from, to, bytes)) << to_string(dims);
      }
    }
  }
}

TEST_F(OwnReorder, DoesNothingWhereItsGuardIsSet) {
  const TensorSpec plain = plain_tensor(DType::float32, {2, 3, 4}), last = channels_last(plain);
  const Bytes bytes = random_bytes(plain.bytes), before(plain.bytes, std::byte(0x5a));
  for (const TensorSpec& to : {last, plain}) {
    auto prepared = prepare_own_reorder(plain, to, kernels_);
    ASSERT_TRUE(prepared);
    const int32_t failed = 1, fine = 0;
    EXPECT_EQ(run(*prepared, {bytes}, {before}, &failed)[0], before);
    EXPECT_EQ(run(*prepared, {bytes}, {before}, &fine)[0], relaid(plain, to, bytes));
  }
}

TEST_F(OwnReorder, EqualFormatsAreCopied) {
  for (const auto& [dtype, count] :
       {std::pair(DType::float32, 1003), std::pair(DType::uint8, 17), std::pair(DType::int64, 2)}) {
    const TensorSpec tensor = plain_tensor(dtype, {count});
    const Bytes bytes = random_bytes(tensor.bytes);
    auto prepared = prepare_own_reorder(tensor, tensor, kernels_);
    ASSERT_TRUE(prepared);
    EXPECT_EQ(run(*prepared, {bytes}, {Bytes(bytes.size())})[0], bytes);
    EXPECT_EQ(run(*prepared, {bytes}, {Bytes(bytes.size())}, nullptr, size_of(dtype))[0], bytes);
  }
}

TEST_F(OwnReorder, RefusesWhatIsNoReorder) {
  const TensorSpec tensor = plain_tensor(DType::float32, {2, 3, 4});
  EXPECT_FALSE(prepare_own_reorder(tensor, plain_tensor(DType::float32, {2, 3, 5}), kernels_));
  EXPECT_FALSE(prepare_own_reorder(tensor, plain_tensor(DType::int32, {2, 3, 4}), kernels_));
}

TEST_F(OwnReorder, PlannedWithoutADevice) {
  const TensorSpec tensor = plain_tensor(DType::float32, {2, 3, 4});
  auto prepared = prepare_own_reorder(tensor, channels_last(tensor), nullptr);
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->executable, nullptr);
  EXPECT_EQ(prepared->implementation, "transpose");
}

class OwnSum : public OwnKernelTest {
 protected:
  template <typename T>
  void check(DType dtype, int inputs, size_t count, size_t shift) {
    std::vector<TensorSpec> specs(size_t(inputs), plain_tensor(dtype, {int64_t(count)}));
    std::vector<std::string> roles;
    std::vector<Bytes> bytes;
    std::vector<T> sum;
    for (int i = 0; i < inputs; ++i) {
      roles.push_back("x" + std::to_string(i));
      const auto x = random_values<T>(count, unsigned(i));
      bytes.push_back(bytes_of(x));
      if (i == 0) sum = x;
      for (size_t k = 0; i > 0 && k < count; ++k) sum[k] = T(float(sum[k]) + float(x[k]));
    }
    const TestStep step(Op::reduce, roles, specs, {specs[0]});
    Prepared prepared = prepare_own_reduce(step.request(), kernels_);
    EXPECT_EQ(run(prepared, bytes, {Bytes(bytes[0].size())}, nullptr, shift)[0], bytes_of(sum))
        << name_of(dtype) << ", " << inputs << " × " << count;
  }
};

TEST_F(OwnSum, ReplicasFromLeftToRight) {
  for (const int inputs : {1, 2, 3, 16, 17, 33}) {
    check<float>(DType::float32, inputs, 1003, 0);
    check<BFloat16>(DType::bfloat16, inputs, 101, 0);
    check<Half>(DType::float16, inputs, 101, 0);
  }
}

TEST_F(OwnSum, ReplicasThatAreAlignedToTheirElementsAlone) {
  check<float>(DType::float32, 3, 70, 4);
  check<BFloat16>(DType::bfloat16, 3, 70, 2);
}

TEST_F(OwnSum, OfColumnsInAFixedOrder) {
  for (const int64_t rows : {1, 7, 64, 200, 1000}) {
    for (const int64_t columns : {1, 33, 100, 264}) {
      const auto x = random_values<float>(size_t(rows * columns), unsigned(rows));
      std::vector<double> sums(static_cast<size_t>(columns), 0.0);
      for (int64_t i = 0; i < rows * columns; ++i) sums[size_t(i % columns)] += x[size_t(i)];
      std::vector<KernelCall> calls;
      size_t scratch = 0, planned = 0;
      add_column_sums(calls, kernels_.get(), {1, 0}, {0, 0}, DType::float32, rows, columns, scratch);
      std::vector<KernelCall> none;
      add_column_sums(none, nullptr, {1, 0}, {0, 0}, DType::float32, rows, columns, planned);
      EXPECT_EQ(scratch, planned);
      EXPECT_TRUE(none.empty());
      const auto got = values_of<float>(run(calls, {bytes_of(x)}, {Bytes(size_t(columns) * 4)}, scratch)[0]);
      for (size_t c = 0; c < size_t(columns); ++c)
        EXPECT_NEAR(got[c], sums[c], 1e-5 * std::sqrt(double(rows)) * 4) << rows << " × " << columns << ", column " << c;
    }
  }
}

TEST_F(OwnSum, OfNarrowColumnsIsWide) {
  // 300 ones and 1/256: bf16 sums would stop at 256.
  const std::vector<BFloat16> x(300, BFloat16(1.0F));
  std::vector<KernelCall> calls;
  size_t scratch = 0;
  add_column_sums(calls, kernels_.get(), {1, 0}, {0, 0}, DType::bfloat16, 300, 1, scratch);
  EXPECT_EQ(values_of<float>(run(calls, {bytes_of(x)}, {Bytes(4)}, scratch)[0])[0], 300.0F);
}

class OwnCheck : public OwnKernelTest {};

TEST_F(OwnCheck, SetsTheFlagAndTellsTheHost) {
  const TestStep step(Op::check_finite, {"x"}, {plain_tensor(DType::float32, {})}, {});
  Prepared prepared = prepare_own_check_finite(step.request(), kernels_);
  EXPECT_TRUE(prepared.can_fail);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {std::nanf(""), 1.5F, infinity, -infinity, 0.0F, std::numeric_limits<float>::max(), -1e-45F}) {
    run(prepared, {bytes_of(std::vector<float>{x})}, {});
    EXPECT_EQ(flag() != 0, !std::isfinite(x)) << x;
    EXPECT_EQ(prepared.executable->failed(0), !std::isfinite(x)) << x;
    EXPECT_EQ(prepared.executable->failure(0).empty(), std::isfinite(x)) << x;
  }
}

}  // namespace
}  // namespace sheaf::cuda
