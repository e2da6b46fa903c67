#include "tests/unit/ptx/ptx_test.h"

#include <cmath>
#include <random>

namespace sheaf::ptx {
namespace {

using F = std::vector<float>;
using U = std::vector<uint32_t>;
using L = std::vector<uint64_t>;

/// f32 → a register of 32 bits.
U from_float(const std::string& op, F x) {
  return map<uint32_t>("ld.global.f32 %f1, [%x];" + op + " %r2, %f1; st.global.u32 [%y], %r2;", x);
}
/// f32 → 16 bits.
U narrow(const std::string& op, F x) {
  return map<uint32_t>("ld.global.f32 %f1, [%x];" + op + " %h2, %f1; cvt.u32.u16 %r2, %h2; st.global.u32 [%y], %r2;", x);
}
/// 16 bits → f32.
F wide(const std::string& op, U x) {
  return map<float>("ld.global.u16 %h1, [%x];" + op + " %f2, %h1; st.global.f32 [%y], %f2;", x);
}

TEST(PtxConvert, FloatsToIntegersRoundAndClamp) {
  const F x = {2.5f, -2.5f, 3.5f, 2.7f, -2.7f};
  auto all = [](std::vector<int> values) { return U(values.begin(), values.end()); };
  EXPECT_EQ(from_float("cvt.rni.s32.f32", x), all({2, -2, 4, 3, -3}));
  EXPECT_EQ(from_float("cvt.rzi.s32.f32", x), all({2, -2, 3, 2, -2}));
  EXPECT_EQ(from_float("cvt.rmi.s32.f32", x), all({2, -3, 3, 2, -3}));
  EXPECT_EQ(from_float("cvt.rpi.s32.f32", x), all({3, -2, 4, 3, -2}));
  EXPECT_EQ(from_float("cvt.rzi.s32.f32", {kNan, kInf, -kInf, 3e9f}), (U{0, 0x7fffffff, 0x80000000, 0x7fffffff}));
  EXPECT_EQ(from_float("cvt.rzi.u32.f32", {-1, 3e9f, 5e9f, kNan}), (U{0, 3000000000u, 0xffffffff, 0}));
  EXPECT_EQ(from_float("cvt.rzi.u8.f32", {300, 7.9f, -3}), (U{255, 7, 0}));
  EXPECT_EQ(from_float("cvt.rni.s8.f32", {-300, -7}), (U{uint32_t(-128), uint32_t(-7)}));
  EXPECT_EQ(map<uint64_t>("ld.global.f64 %d1, [%x]; cvt.rzi.s64.f64 %q2, %d1; st.global.u64 [%y], %q2;",
                          std::vector<double>{-1e10, 1e300, NAN}),
            (L{uint64_t(-10000000000), (uint64_t{1} << 63) - 1, uint64_t{1} << 63}));
  EXPECT_EQ(map<float>("ld.global.f32 %f1, [%x]; cvt.rni.f32.f32 %f2, %f1; st.global.f32 [%y], %f2;", F{2.5f, -0.3f, kInf}),
            (F{2, -0.0f, kInf}));
  EXPECT_EQ(
      map<float>("ld.global.f32 %f1, [%x]; cvt.sat.f32.f32 %f2, %f1; st.global.f32 [%y], %f2;", F{2.5f, -0.3f, 0.5f, kNan}),
      (F{1, 0, 0.5f, 0}));
}

TEST(PtxConvert, IntegersToFloats) {
  auto convert = [](const std::string& op, U x) {
    return map<float>("ld.global.u32 %r1, [%x];" + op + " %f2, %r1; st.global.f32 [%y], %f2;", x);
  };
  EXPECT_EQ(convert("cvt.rn.f32.s32", {0xffffffff, 16777217}), (F{-1, 16777216}));
  EXPECT_EQ(convert("cvt.rp.f32.u32", {16777217, 0xffffffff}), (F{16777218, 4294967296.0f}));
  EXPECT_EQ(convert("cvt.rz.f32.u32", {0xffffffff}), F{4294967040.0f});
  EXPECT_EQ(map<float>("ld.global.u32 %r1, [%x]; cvt.u64.u32 %q1, %r1; shl.b64 %q1, %q1, 32; cvt.rn.f32.u64 %f2, %q1;"
                       "st.global.f32 [%y], %f2;",
                       U{0xffffffff, 3}),
            (F{0x1p64f, 0x3p32f}));
  EXPECT_EQ(
      map<double>("ld.global.u64 %q1, [%x]; cvt.rn.f64.s64 %d2, %q1; st.global.f64 [%y], %d2;", L{uint64_t(-3), 1ull << 62}),
      (std::vector<double>{-3, 0x1p62}));
}

TEST(PtxConvert, IntegersToIntegers) {
  auto convert = [](const std::string& to, const std::string& from, U x) {
    return map<uint32_t>("ld.global.u32 %r1, [%x]; cvt." + to + "." + from + " %r2, %r1; st.global.u32 [%y], %r2;", x);
  };
  EXPECT_EQ(convert("s8", "s32", {0x1ff, 0x7f}), (U{0xffffffff, 0x7f}));
  EXPECT_EQ(convert("u8", "u32", {0x1ff}), U{0xff});
  EXPECT_EQ(convert("s16", "s32", {0x8000}), U{0xffff8000});
  EXPECT_EQ(convert("sat.u8", "s32", {uint32_t(-5), 300, 12}), (U{0, 255, 12}));
  EXPECT_EQ(convert("sat.s8", "s32", {uint32_t(-500), 300}), (U{uint32_t(-128), 127}));
  EXPECT_EQ(map<uint64_t>("ld.global.u64 %q1, [%x]; cvt.u32.u64 %r1, %q1; cvt.s64.s32 %q2, %r1; st.global.u64 [%y], %q2;",
                          L{0x1ffffffff}),
            L{~uint64_t{0}});
}

TEST(PtxConvert, NarrowFloatsRoundToEven) {
  EXPECT_EQ(
      narrow("cvt.rn.f16.f32", {1, -2, 65504, 65520, 65519, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, 1 + 0x1p-11f, 1 + 0x3p-11f, kNan}),
      (U{0x3c00, 0xc000, 0x7bff, 0x7c00, 0x7bff, 1, 0, 1, 0x3c00, 0x3c02, 0x7fff}));
  EXPECT_EQ(narrow("cvt.rz.f16.f32", {65520, 1 + 0x1.8p-10f}), (U{0x7bff, 0x3c01}));
  EXPECT_EQ(narrow("cvt.rn.satfinite.f16.f32", {1e6f, -kInf}), (U{0x7bff, 0xfbff}));
  EXPECT_EQ(narrow("cvt.rn.bf16.f32", {1, 1 + 0x1p-8f, 1 + 0x3p-8f, -kInf, 3.4e38f, kNan, 0x1p-133f, 0x1p-134f}),
            (U{0x3f80, 0x3f80, 0x3f82, 0xff80, 0x7f80, 0x7fff, 1, 0}));
  EXPECT_EQ(narrow("cvt.rz.bf16.f32", {3.4e38f}), U{0x7f7f});
  EXPECT_EQ(narrow("cvt.rn.relu.bf16.f32", {-3, 2}), (U{0, 0x4000}));
  EXPECT_EQ(wide("cvt.f32.f16", {0x3c00, 1, 0xfc00, 0x83ff}), (F{1, 0x1p-24f, -kInf, -0x1.ff8p-15f}));
  EXPECT_EQ(wide("cvt.f32.bf16", {0x3f80, 0xc040}), (F{1, -3}));
  // d = {a above, b below}
  EXPECT_EQ(from_float("mov.f32 %f3, 0f40000000; cvt.rn.bf16x2.f32 %r3, %f3, %f1; mov.b32 %f1, %r3; mov.b32", {1}),
            U{0x40003f80});
}

/// Every f16 and its neighbours: a number half way goes to the even one.
TEST(PtxConvert, HalvesBetweenNeighbours) {
  F x;
  U expected;
  for (uint32_t i = 0; i < 0x7bff; i += 37) {
    auto value = [](uint32_t half) {
      return std::ldexp((half & 1023) | (half >> 10 ? 1024 : 0), std::max<int>(static_cast<int>(half >> 10), 1) - 25);
    };
    const double low = value(i), high = value(i + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    x.insert(x.end(), {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, kInf)});
    expected.insert(expected.end(), {i + (i & 1), i, i + 1});
  }
  for (size_t at = 0; at < x.size(); at += 1023) {
    const size_t stop = std::min(at + 1023, x.size());
    EXPECT_EQ(narrow("cvt.rn.f16.f32", F(&x[at], x.data() + stop)), U(&expected[at], expected.data() + stop));
  }
}

TEST(PtxNarrow, ArithmeticRoundsOnce) {
  auto two = [](const std::string& op, uint32_t a, uint32_t b) {
    return map<uint32_t>(
        "ld.global.u32 %r1, [%x]; mov.b32 %r2, " + std::to_string(b) + ";" + op + " %r3, %r1, %r2; st.global.u32 [%y], %r3;",
        U{a})[0];
  };
  EXPECT_EQ(two("add.f16x2", 0x3c003c00, 0x40004200), 0x42004400u);  // 1 + 2, 1 + 3
  EXPECT_EQ(two("mul.bf16x2", 0x40404000, 0x40004000), 0x40c04080u);
  EXPECT_EQ(two("sub.f16x2", 0x3c000001, 0x3c000001), 0u);
  EXPECT_EQ(two("max.f16x2", 0x7e003c00, 0x3c004000), 0x3c004000u);
  auto fma = [](uint32_t a, uint32_t b, uint32_t c, const std::string& type) {
    return map<uint32_t>("mov.b16 %h1, " + std::to_string(a) + "; mov.b16 %h2, " + std::to_string(b) + "; mov.b16 %h3, " +
                             std::to_string(c) + "; fma.rn." + type +
                             " %h4, %h1, %h2, %h3; cvt.u32.u16 %r1, %h4; st.global.u32 [%y], %r1;",
                         U{0})[0];
  };
  // 1 · (1 + 2^-10) + 2^-24 … : just above half way must go up, whatever a first rounding would make of it.
  EXPECT_EQ(fma(0x3c01, 0x3c00, 0x1000, "f16"), 0x3c02u);   // (1 + 2^-10) + 2^-11: half way, to even
  EXPECT_EQ(fma(0x3c00, 0x3c00, 0x1001, "f16"), 0x3c01u);   // 1 + (2^-11 + 2^-21): above half way
  EXPECT_EQ(fma(0x3c00, 0x3c00, 0x1000, "f16"), 0x3c00u);   // 1 + 2^-11: half way, to even
  EXPECT_EQ(fma(0x3f80, 0x3f80, 0x3b80, "bf16"), 0x3f80u);  // 1 + 2^-8
  EXPECT_EQ(fma(0x3f80, 0x3f80, 0x3b81, "bf16"), 0x3f81u);
  // 2^-8 · (1 + 2^-7)² + 1 lies 2^-22 + … above half way: only an exact product shows it.
  EXPECT_EQ(fma(0x3b80, 0x3f80, 0x3f80, "bf16"), 0x3f80u);
  EXPECT_EQ(fma(0x3b81, 0x3f80, 0x3f80, "bf16"), 0x3f81u);
}

}  // namespace
}  // namespace sheaf::ptx
