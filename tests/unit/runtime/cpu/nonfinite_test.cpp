// Counts of elements that are infinite or NaN, over tensors of several types, sizes and numbers of threads.
#include "runtime/cpu/ops/ops.h"
#include "runtime/plan/op_list.h"

#include <gmock/gmock.h>

#include <bit>
#include <limits>

namespace sheaf::test {
namespace {

struct Counted {
  Counted(std::vector<TensorSpec> tensors, int threads) : inputs(std::move(tensors)), threads(threads) {
    step.op = Op::nonfinite;
    for (size_t i = 0; i < inputs.size(); ++i) step.roles.push_back("x" + std::to_string(i));
    prepared = prepare_cpu_library_op({step, plan, inputs, outputs, threads, false, {}});
  }
  float operator()(std::vector<void*> buffers) {
    float count = -1;
    buffers.push_back(&count);
    prepared->executable->run(buffers.data(), nullptr);
    return count;
  }

  Step step;
  const Plan plan;
  std::vector<TensorSpec> inputs, outputs = {plain_tensor(DType::float32, {})};
  int threads;
  Result<Prepared> prepared = Error("none");
};

TEST(Nonfinite, KnowsEachKindOfNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  Counted count({plain_tensor(DType::float32, {})}, 1);
  ASSERT_TRUE(bool(count.prepared)) << to_string(count.prepared.error());
  for (float x : {0.0F, -0.0F, 0x1p-149F, 1.5F, std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()})
    EXPECT_EQ(count({&x}), 0) << x;
  for (float x : {kInfinity, -kInfinity, kNan, -kNan, std::bit_cast<float>(0x7f800001)}) EXPECT_EQ(count({&x}), 1) << x;
}

TEST(Nonfinite, CountsAllTensorsOfAnyTypeOnAnyNumberOfThreads) {
  for (const int threads : {1, 3}) {
    const int64_t sizes[] = {200'003, 0, 1, 70'000, 131'072};
    Counted count({plain_tensor(DType::float32, {sizes[0]}), plain_tensor(DType::float32, {sizes[1], 4}),
                   plain_tensor(DType::bfloat16, {}), plain_tensor(DType::float16, {sizes[3]}),
                   plain_tensor(DType::bfloat16, {2, sizes[4] / 2})},
                  threads);
    ASSERT_TRUE(bool(count.prepared)) << to_string(count.prepared.error());
    std::vector<float> first(size_t(sizes[0]), 1);
    std::vector<uint16_t> scalar = {0xff80}, halves(size_t(sizes[3]), 0x7bff), narrow(size_t(sizes[4]), 0x7f7f);
    const std::vector<void*> buffers = {first.data(), nullptr, scalar.data(), halves.data(), narrow.data()};
    EXPECT_EQ(count(buffers), 1);
    first.back() = std::numeric_limits<float>::infinity();
    halves[0] = 0x7c00, halves[69'999] = 0xfe01;  // -NaN
    for (size_t i = 0; i < narrow.size(); i += 2) narrow[i] = 0x7fc0;
    EXPECT_EQ(count(buffers), 4 + 65'536);
  }
}

TEST(Nonfinite, RefusesWhatItCannotCount) {
  Counted whole({plain_tensor(DType::float32, {2}), plain_tensor(DType::int32, {2})}, 1);
  ASSERT_FALSE(bool(whole.prepared));
  EXPECT_THAT(to_string(whole.prepared.error()), testing::HasSubstr("input 1 is not of floating point"));
}

}  // namespace
}  // namespace sheaf::test
