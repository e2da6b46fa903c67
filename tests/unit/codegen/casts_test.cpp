// Casts between dtypes, and half-precision storage.
#include "ir/Scalars.h"
#include "tests/unit/codegen/loaded_kernels.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace sheaf::kernels {
namespace {

using mlir::OpBuilder;
using mlir::ValueRange;
using Values = llvm::SmallVector<mlir::Value>;
using Loc = mlir::Location;

TEST(Casts, BetweenDtypes) {
  LoadedKernels kernels;
  auto add = [&](DType from, DType to) {
    return kernels.module.add_elementwise(
        {"cast", "", {{from, {batch()}}}, {batch()}, {to}, [=](OpBuilder& b, Loc l, ValueRange v) {
           mlir::Type type = b.getF32Type();
           if (to == DType::int64) type = b.getI64Type();
           if (to == DType::int32) type = b.getI32Type();
           if (to == DType::uint8) type = b.getI8Type();
           return Values{scalar::cast(b, l, v[0], from == DType::uint8, type, to == DType::uint8)};
         }});
  };
  auto u8_f32 = add(DType::uint8, DType::float32), i64_f32 = add(DType::int64, DType::float32),
       f32_u8 = add(DType::float32, DType::uint8), f32_i64 = add(DType::float32, DType::int64),
       u8_i64 = add(DType::uint8, DType::int64), f32_bf16 = add(DType::float32, DType::bfloat16),
       bf16_f32 = add(DType::bfloat16, DType::float32), f32_f16 = add(DType::float32, DType::float16),
       f16_f32 = add(DType::float16, DType::float32), i64_i32 = add(DType::int64, DType::int32);
  ASSERT_TRUE(u8_f32 && i64_f32 && f32_u8 && f32_i64 && u8_i64 && f32_bf16 && bf16_f32 && f32_f16 && f16_f32 && i64_i32);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  constexpr size_t n = 256;
  std::vector<uint8_t> u8(n);
  for (size_t i = 0; i < n; ++i) u8[i] = static_cast<uint8_t>(i);
  std::vector<float> f32(n);
  std::vector<int64_t> i64(n);
  std::map<std::string, int64_t> sizes{{"batch", n}};
  kernels.run(*u8_f32, {u8.data(), f32.data()}, sizes, 3, [&] {
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(f32[i], i);
  });
  kernels.run(*u8_i64, {u8.data(), i64.data()}, sizes, 3, [&] {
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(i64[i], i);
  });
  for (size_t i = 0; i < n; ++i) i64[i] = static_cast<int64_t>(i * i) - 5000;
  kernels.run(*i64_f32, {i64.data(), f32.data()}, sizes, 3, [&] {
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(f32[i], i64[i]);
  });
  std::vector<int32_t> i32(n);
  kernels.run(*i64_i32, {i64.data(), i32.data()}, sizes, 3, [&] {
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(i32[i], i64[i]);
  });
  for (size_t i = 0; i < n; ++i) f32[i] = static_cast<float>(i) - 3.75f;
  kernels.run(*f32_i64, {f32.data(), i64.data()}, sizes, 3, [&] {
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(i64[i], static_cast<int64_t>(f32[i]));
  });
  kernels.run(*f32_u8, {f32.data(), u8.data()}, sizes, 3, [&] {
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(u8[i], static_cast<uint8_t>(static_cast<int64_t>(f32[i])));
  });
  f32[0] = nan, f32[1] = infinity, f32[2] = 1.00390625f, f32[3] = 1.01171875f, f32[4] = 65504, f32[5] = -infinity;
  std::vector<uint16_t> half(n);
  std::vector<float> back(n);
  kernels.run(*f32_bf16, {f32.data(), half.data()}, sizes, 3, [&] {});
  kernels.run(*bf16_f32, {half.data(), back.data()}, sizes, 3, [&] {
    ASSERT_TRUE(std::isnan(back[0]));
    ASSERT_EQ(back[1], infinity);
    ASSERT_EQ(back[2], 1.0f) << "a tie goes to even";
    ASSERT_EQ(back[3], 1.015625f) << "a tie goes to even";
    for (size_t i = 6; i < n; ++i) ASSERT_NEAR(back[i], f32[i], std::abs(f32[i]) / 256);
  });
  kernels.run(*f32_f16, {f32.data(), half.data()}, sizes, 3, [&] {
    for (size_t i = 1; i < n; ++i) {
      _Float16 value = static_cast<_Float16>(f32[i]);
      uint16_t bits;
      std::memcpy(&bits, &value, 2);
      ASSERT_EQ(half[i], bits);
    }
  });
  kernels.run(*f16_f32, {half.data(), back.data()}, sizes, 3, [&] {
    ASSERT_TRUE(std::isnan(back[0]));
    for (size_t i = 1; i < n; ++i) ASSERT_EQ(back[i], static_cast<float>(static_cast<_Float16>(f32[i])));
  });
}

}  // namespace
}  // namespace sheaf::kernels
