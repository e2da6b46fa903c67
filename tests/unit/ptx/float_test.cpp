#include "tests/unit/ptx/ptx_test.h"

#include <cmath>

namespace sheaf::ptx {
namespace {

using F = std::vector<float>;
using D = std::vector<double>;
using U = std::vector<uint32_t>;

/// Bits of the results of one f32 instruction on %f1.
U one(const std::string& op, F x, const std::string& rest = "") {
  return map<uint32_t>("ld.global.f32 %f1, [%x];" + op + " %f2, %f1" + rest + "; st.global.f32 [%y], %f2;", x);
}
U bits_of(F values) {
  U all;
  for (float value : values) all.push_back(bits(value));
  return all;
}

TEST(PtxFloat, RoundsEachOperationOnce) {
  EXPECT_EQ(one("add.f32", {1, -1}, ", 0f33800000"), bits_of({1 + 0x1p-24f, -1 + 0x1p-24f}));
  EXPECT_EQ(one("add.rz.f32", {1}, ", 0f34000001"), bits_of({1 + 0x1p-23f}));  // 1 + 2^-23 + a bit
  EXPECT_EQ(one("add.rp.f32", {1}, ", 0f33000000"), bits_of({1 + 0x1p-23f}));  // 1 + 2^-25, up
  EXPECT_EQ(one("add.rm.f32", {-1}, ", 0fB3000000"), bits_of({-1 - 0x1p-23f}));
  EXPECT_EQ(one("mul.rn.f32", {1 + 0x1p-23f}, ", %f1"), bits_of({1 + 0x1p-22f}));
  // (1 + e)² − 1 − 2e = e² is lost unless the product stays exact.
  EXPECT_EQ(one("fma.rn.f32", {1 + 0x1p-23f}, ", %f1, 0fBF800002"), bits_of({0x1p-46f}));
  EXPECT_EQ(one("div.rn.f32", {1, -2}, ", 0f40400000"), bits_of({1.0f / 3, -2.0f / 3}));
  EXPECT_EQ(one("div.rz.f32", {1}, ", 0f40400000"), U{0x3eaaaaaa});
  EXPECT_EQ(one("sqrt.rn.f32", {2, -1}), (U{bits(std::sqrt(2.0f)), 0x7fffffff}));
  EXPECT_EQ(one("sqrt.rp.f32", {2}), U{bits(std::nextafter(std::sqrt(2.0f), 2.0f))});
  EXPECT_EQ(one("rcp.rn.f32", {3, 0, -0.0f}), bits_of({1.0f / 3, kInf, -kInf}));
}

TEST(PtxFloat, SubnormalNumbersStayUnlessFlushed) {
  EXPECT_EQ(one("mul.f32", {0x1p-126f}, ", 0f3F000000"), bits_of({0x1p-127f}));
  EXPECT_EQ(one("mul.ftz.f32", {-0x1p-126f}, ", 0f3F000000"), bits_of({-0.0f}));
  EXPECT_EQ(one("add.ftz.f32", {0x1p-127f}, ", 0f00000000"), bits_of({0}));
  EXPECT_EQ(one("add.sat.f32", {3, -3, 0.25f, kNan}, ", 0f00000000"), bits_of({1, 0, 0.25f, 0}));
}

TEST(PtxFloat, SpecialValues) {
  EXPECT_EQ(one("sub.f32", {kInf}, ", %f1"), U{0x7fffffff});
  EXPECT_EQ(one("add.f32", {number(0x7fc12345)}, ", %f1"), U{0x7fffffff});
  EXPECT_EQ(one("abs.f32", {-2, -kInf}), bits_of({2, kInf}));
  EXPECT_EQ(one("neg.f32", {0, -kInf}), bits_of({-0.0f, kInf}));
  EXPECT_EQ(one("copysign.f32", {-1, 2}, ", 0f40400000"), bits_of({-3, 3}));
}

TEST(PtxFloat, ExtremesIgnoreWhatIsNoNumberUnlessAsked) {
  EXPECT_EQ(one("min.f32", {kNan, 3, -1}, ", 0f3F800000"), bits_of({1, 1, -1}));
  EXPECT_EQ(one("max.f32", {kNan, 3}, ", 0f3F800000"), bits_of({1, 3}));
  EXPECT_EQ(one("max.NaN.f32", {kNan, 3}, ", 0f3F800000"), (U{0x7fffffff, bits(3)}));
  EXPECT_EQ(one("max.f32", {-0.0f}, ", 0f00000000"), bits_of({0}));
  EXPECT_EQ(one("min.f32", {0}, ", 0f80000000"), bits_of({-0.0f}));
}

TEST(PtxFloat, ComparisonsOfUnorderedValues) {
  auto holds = [](const std::string& relation, float a, float b) {
    return map<uint32_t>("ld.global.f32 %f1, [%x]; mov.b32 %f2, " + std::to_string(bits(b)) + "; setp." + relation +
                             ".f32 %p1, %f1, %f2; selp.b32 %r2, 1, 0, %p1; st.global.u32 [%y], %r2;",
                         F{a})[0] == 1;
  };
  for (const char* relation : {"eq", "ne", "lt", "le", "gt", "ge"}) EXPECT_FALSE(holds(relation, kNan, 1)) << relation;
  for (const char* relation : {"equ", "neu", "ltu", "leu", "gtu", "geu"}) EXPECT_TRUE(holds(relation, kNan, 1)) << relation;
  EXPECT_TRUE(holds("neu", 2, 1));
  EXPECT_FALSE(holds("neu", 1, 1));
  EXPECT_TRUE(holds("geu", 1, 1));
  EXPECT_FALSE(holds("ltu", 1, 1));
  EXPECT_TRUE(holds("eq", 0, -0.0f));
  EXPECT_TRUE(holds("num", 1, 2));
  EXPECT_TRUE(holds("nan", 1, kNan));
  EXPECT_EQ(
      map<uint32_t>("ld.global.f32 %f1, [%x]; testp.finite.f32 %p1, %f1; testp.subnormal.f32 %p2, %f1; selp.u32 %r1, 1, 0, %p1;"
                    "@%p2 add.s32 %r1, %r1, 2; st.global.u32 [%y], %r1;",
                    F{1, kInf, 0x1p-130f, kNan}),
      (U{1, 0, 3, 0}));
}

TEST(PtxFloat, ApproximateOnesAreTheNearest) {
  const F x = {0, 1, -3.25f, 0.7f, 20.5f};
  auto check = [&](const std::string& op, double (*function)(double)) {
    const U got = one(op, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const float expected = static_cast<float>(function(x[i]));
      if (expected == expected) EXPECT_EQ(number(got[i]), expected) << op << " " << x[i];
      else EXPECT_EQ(got[i], 0x7fffffffu) << op << " " << x[i];
    }
  };
  check("ex2.approx.ftz.f32", [](double a) { return std::exp2(a); });
  check("lg2.approx.f32", [](double a) { return std::log2(a); });
  check("sin.approx.f32", [](double a) { return std::sin(a); });
  check("cos.approx.f32", [](double a) { return std::cos(a); });
  check("tanh.approx.f32", [](double a) { return std::tanh(a); });
  check("rsqrt.approx.f32", [](double a) { return 1 / std::sqrt(a); });
  check("sqrt.approx.ftz.f32", [](double a) { return std::sqrt(a); });
  check("rcp.approx.ftz.f32", [](double a) { return 1 / a; });
  EXPECT_EQ(one("ex2.approx.f32", {-140}), bits_of({0x1p-140f}));
  EXPECT_EQ(one("ex2.approx.ftz.f32", {-140}), bits_of({0}));
  EXPECT_EQ(one("div.approx.f32", {1, 1}, ", 0f7F000000"), bits_of({0, 0}));  // a denominator of 2^127
  EXPECT_EQ(one("div.full.f32", {1}, ", 0f7F000000"), bits_of({0x1p-127f}));
}

TEST(PtxFloat, Doubles) {
  auto one = [](const std::string& op, D x, const std::string& rest = "") {
    return map<double>("ld.global.f64 %d1, [%x];" + op + " %d2, %d1" + rest + "; st.global.f64 [%y], %d2;", x);
  };
  EXPECT_EQ(one("add.f64", {0.1}, ", 0d3FC999999999999A"), D{0.1 + 0.2});
  EXPECT_EQ(one("fma.rn.f64", {1 + 0x1p-52}, ", %d1, 0dBFF0000000000002"), D{0x1p-104});
  EXPECT_EQ(one("div.rn.f64", {1}, ", 0d4008000000000000"), D{1.0 / 3});
  EXPECT_EQ(one("sqrt.rn.f64", {2}), D{std::sqrt(2.0)});
  EXPECT_EQ(one("min.f64", {NAN, 2}, ", 0d3FF0000000000000"), (D{1, 1}));
  EXPECT_EQ(one("mul.rz.f64", {0.9}, ", 0d3FB999999999999A"), D{std::nextafter(0.1 * 0.9, 0)});
}

}  // namespace
}  // namespace sheaf::ptx
