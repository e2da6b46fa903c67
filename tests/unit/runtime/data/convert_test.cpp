#include "runtime/data/convert.h"
#include "tests/unit/runtime/data/tensor_files.h"

#include <cmath>
#include <limits>

namespace sheaf {
namespace {

using data_tests::tensor_of;
using data_tests::values_of;

TEST(Half, EveryNumberComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = float_from_half(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_from_half(half_from_float(value))));
    } else {
      ASSERT_EQ(half_from_float(value), bits);
    }
  }
}

// The compiler's own half type is the reference.
TEST(Half, RoundsToNearestEven) {
  for (uint32_t high = 0; high < 65536; ++high)
    for (const uint32_t low : {0u, 1u, 0x0FFFu, 0x1000u, 0x1001u, 0x2000u, 0x3000u, 0x7FFFu, 0x8000u, 0xFFFFu}) {
      const float value = std::bit_cast<float>(high << 16 | low);
      if (std::isnan(value)) continue;
      ASSERT_EQ(half_from_float(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
    }
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNaN) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = float_from_bfloat16(static_cast<uint16_t>(bits));
    if (!std::isnan(value)) ASSERT_EQ(bfloat16_from_float(value), bits);
  }
  EXPECT_EQ(bfloat16_from_float(std::bit_cast<float>(0x3F808000u)), 0x3F80);
  EXPECT_EQ(bfloat16_from_float(std::bit_cast<float>(0x3F818000u)), 0x3F82);
  EXPECT_EQ(bfloat16_from_float(std::bit_cast<float>(0x3F808001u)), 0x3F81);
  EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(float_from_bfloat16(bfloat16_from_float(std::bit_cast<float>(0x7F800001u)))));
}

TEST(Convert, IntegersOfOtherWidths) {
  const auto wide = convert(tensor_of<uint8_t>(DType::uint8, {3}, {0, 7, 255}), DType::int64);
  ASSERT_TRUE(wide);
  EXPECT_EQ(values_of<int64_t>(*wide), (std::vector<int64_t>{0, 7, 255}));
  EXPECT_EQ(wide->shape, (std::vector<int64_t>{3}));
  const auto narrow = convert(tensor_of<int64_t>(DType::int64, {2}, {-5, INT32_MAX}), DType::int32);
  ASSERT_TRUE(narrow);
  EXPECT_EQ(values_of<int32_t>(*narrow), (std::vector<int32_t>{-5, INT32_MAX}));
  EXPECT_FALSE(convert(tensor_of<int64_t>(DType::int64, {1}, {int64_t{1} << 31}), DType::int32));
  const auto beyond = convert(tensor_of<int32_t>(DType::int32, {1}, {-1}), DType::uint8);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().message(), "the number -1 can't be represented as uint8");
}

TEST(Convert, IntegersBecomeFloatingPointWhereThatIsExact) {
  const auto exact = convert(tensor_of<int64_t>(DType::int64, {2}, {-16777216, 3}), DType::float32);
  ASSERT_TRUE(exact);
  EXPECT_EQ(values_of<float>(*exact), (std::vector<float>{-16777216, 3}));
  EXPECT_FALSE(convert(tensor_of<int64_t>(DType::int64, {1}, {16777217}), DType::float32));
  EXPECT_FALSE(convert(tensor_of<int64_t>(DType::int64, {1}, {INT64_MIN}), DType::float32));
  EXPECT_TRUE(convert(tensor_of<int32_t>(DType::int32, {1}, {2048}), DType::float16));
  EXPECT_FALSE(convert(tensor_of<int32_t>(DType::int32, {1}, {2049}), DType::float16));
  EXPECT_FALSE(convert(tensor_of<int32_t>(DType::int32, {1}, {257}), DType::bfloat16));
}

TEST(Convert, FloatingPointNeverBecomesAnInteger) {
  EXPECT_FALSE(convert(tensor_of<float>(DType::float32, {1}, {1}), DType::int64));
  const auto half = convert(tensor_of<float>(DType::float32, {2}, {1.5f, -2}), DType::float16);
  ASSERT_TRUE(half);
  EXPECT_EQ(values_of<uint16_t>(*half), (std::vector<uint16_t>{0x3E00, 0xC000}));
  const auto back = convert(*half, DType::bfloat16);
  ASSERT_TRUE(back);
  EXPECT_EQ(values_of<uint16_t>(*back), (std::vector<uint16_t>{0x3FC0, 0xC000}));
}

TEST(Tensor, StorageIsAlignedAndSized) {
  const auto tensor = make_tensor(DType::float16, {3, 5});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->bytes.size(), 30u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->bytes.data()) % 64, 0u);
  EXPECT_EQ(make_tensor(DType::int64, {})->bytes.size(), 8u);
  EXPECT_EQ(make_tensor(DType::int64, {4, 0})->bytes.size(), 0u);
}

TEST(Tensor, RefusesSizesThatDoNotFit) {
  EXPECT_FALSE(make_tensor(DType::float32, {-1}));
  EXPECT_FALSE(make_tensor(DType::float32, {INT64_MAX, 2}));
  EXPECT_FALSE(make_tensor(DType::float32, {0, INT64_MAX, 2}));
  EXPECT_FALSE(make_tensor(DType::float32, {int64_t{1} << 50}));
}

}  // namespace
}  // namespace sheaf
