#include "tests/unit/ptx/ptx_test.h"

namespace sheaf::ptx {
namespace {

using U = std::vector<uint32_t>;
using L = std::vector<uint64_t>;

/// One 32-bit instruction `op` on %r1, the thread's x, and the operands after it.
U one32(const std::string& op, U x, const std::string& rest = "") {
  return map<uint32_t>("ld.global.u32 %r1, [%x];" + op + " %r2, %r1" + rest + "; st.global.u32 [%y], %r2;", x);
}
L one64(const std::string& op, L x, const std::string& rest = "") {
  return map<uint64_t>("ld.global.u64 %q1, [%x];" + op + " %q2, %q1" + rest + "; st.global.u64 [%y], %q2;", x);
}

TEST(PtxInteger, SumsWrap) {
  EXPECT_EQ(one32("add.s32", {1, 0xffffffff, 0x7fffffff}, ", 2"), (U{3, 1, 0x80000001}));
  EXPECT_EQ(one32("add.sat.s32", {1, 0x7fffffff, 0x80000000}, ", 2"), (U{3, 0x7fffffff, 0x80000002}));
  EXPECT_EQ(one32("sub.sat.s32", {1, 0x80000001}, ", 2"), (U{0xffffffff, 0x80000000}));
  EXPECT_EQ(one64("sub.s64", {1, 5}, ", 3"), (L{~uint64_t{1}, 2}));
}

TEST(PtxInteger, ProductsLowHighAndWide) {
  EXPECT_EQ(one32("mul.lo.u32", {3, 0x10000, 0xffffffff}, ", 0x10001"), (U{0x30003, 0x10000, 0xfffeffff}));
  EXPECT_EQ(one32("mul.hi.u32", {3, 0x10000, 0xffffffff}, ", 0x10001"), (U{0, 1, 0x10000}));
  EXPECT_EQ(one32("mul.hi.s32", {0xffffffff, 0x40000000}, ", 8"), (U{0xffffffff, 2}));
  EXPECT_EQ(one64("mul.hi.u64", {~uint64_t{0}, uint64_t{1} << 63}, ", 4"), (L{3, 2}));
  EXPECT_EQ(one64("mul.hi.s64", {~uint64_t{0}}, ", 4"), (L{~uint64_t{0}}));
  const std::string both = "ld.global.u64 %q1, [%x]; cvt.u32.u64 %r1, %q1;";
  EXPECT_EQ(map<uint64_t>(both + "mul.wide.s32 %q2, %r1, -3; st.global.u64 [%y], %q2;", L{5, 0x80000000}),
            (L{uint64_t(-15), 3ull << 31}));
  EXPECT_EQ(map<uint64_t>(both + "mad.wide.u32 %q2, %r1, 0xffffffff, 7; st.global.u64 [%y], %q2;", L{0xffffffff}),
            (L{0xfffffffe00000008}));
  EXPECT_EQ(one32("mad.lo.s32", {4, 5}, ", %r1, -1"), (U{15, 24}));
}

TEST(PtxInteger, DivisionTruncates) {
  EXPECT_EQ(one32("div.s32", {7, uint32_t(-7), 0x80000000}, ", 2"), (U{3, uint32_t(-3), 0xc0000000}));
  EXPECT_EQ(one32("rem.s32", {7, uint32_t(-7)}, ", 4"), (U{3, uint32_t(-3)}));
  EXPECT_EQ(one32("div.u32", {7, 0xffffffff}, ", 16"), (U{0, 0x0fffffff}));
  EXPECT_EQ(one32("div.s32", {0x80000000}, ", -1"), (U{0x80000000}));
  EXPECT_EQ(one64("rem.u64", {1000000000007}, ", 1000"), (L{7}));
}

TEST(PtxInteger, MinimaAbsoluteValuesAndNegation) {
  EXPECT_EQ(one32("min.s32", {5, 0xffffffff}, ", 3"), (U{3, 0xffffffff}));
  EXPECT_EQ(one32("min.u32", {5, 0xffffffff, 1}, ", 3"), (U{3, 3, 1}));
  EXPECT_EQ(one32("max.s32", {5, 0xffffffff}, ", 3"), (U{5, 3}));
  EXPECT_EQ(one32("abs.s32", {5, 0xffffffff, 0x80000000}), (U{5, 1, 0x80000000}));
  EXPECT_EQ(one32("neg.s32", {5, 0x80000000}), (U{uint32_t(-5), 0x80000000}));
}

TEST(PtxBits, ShiftsBeyondTheSizeGiveZeroOrTheSign) {
  EXPECT_EQ(one32("shl.b32", {1, 3}, ", 31"), (U{0x80000000, 0x80000000}));
  EXPECT_EQ(one32("shl.b32", {1, 3}, ", 32"), (U{0, 0}));
  EXPECT_EQ(one32("shr.u32", {0x80000000}, ", 40"), (U{0}));
  EXPECT_EQ(one32("shr.s32", {0x80000000, 7}, ", 40"), (U{0xffffffff, 0}));
  EXPECT_EQ(one64("shr.s64", {uint64_t{1} << 63}, ", 62"), (L{~uint64_t{1}}));
}

TEST(PtxBits, FunnelShifts) {
  // The pair is {b, a} = {%r1, 0x89abcdef} for l, {0x01234567, %r1} for r.
  EXPECT_EQ(map<uint32_t>("ld.global.u32 %r1, [%x]; shf.l.wrap.b32 %r2, 0x89abcdef, 0x01234567, %r1; st.global.u32 [%y], %r2;",
                          U{0, 4, 32, 36}),
            (U{0x01234567, 0x12345678, 0x01234567, 0x12345678}));
  EXPECT_EQ(map<uint32_t>("ld.global.u32 %r1, [%x]; shf.l.clamp.b32 %r2, 0x89abcdef, 0x01234567, %r1; st.global.u32 [%y], %r2;",
                          U{0, 4, 32, 36}),
            (U{0x01234567, 0x12345678, 0x89abcdef, 0x89abcdef}));
  EXPECT_EQ(map<uint32_t>("ld.global.u32 %r1, [%x]; shf.r.wrap.b32 %r2, 0x89abcdef, 0x01234567, %r1; st.global.u32 [%y], %r2;",
                          U{0, 8, 31}),
            (U{0x89abcdef, 0x6789abcd, 0x02468acf}));
  EXPECT_EQ(map<uint32_t>("ld.global.u32 %r1, [%x]; shf.r.clamp.b32 %r2, 0x89abcdef, 0x01234567, %r1; st.global.u32 [%y], %r2;",
                          U{32, 99}),
            (U{0x01234567, 0x01234567}));
}

TEST(PtxBits, BytePermutation) {
  auto permute = [](const std::string& selector, const char* mode = "") {
    return map<uint32_t>("ld.global.u32 %r1, [%x]; prmt.b32" + std::string(mode) + " %r2, %r1, 0x77666544, " + selector +
                             "; st.global.u32 [%y], %r2;",
                         U{0xb3221180})[0];
  };
  EXPECT_EQ(permute("0x3210"), 0xb3221180u);
  EXPECT_EQ(permute("0x7654"), 0x77666544u);
  EXPECT_EQ(permute("0x0426"), 0x80442266u);
  EXPECT_EQ(permute("0x89ab"), 0xff0000ffu);  // the bytes' signs
  EXPECT_EQ(permute("1", ".f4e"), 0x44b32211u);
  EXPECT_EQ(permute("1", ".b4e"), 0x66778011u);
  EXPECT_EQ(permute("2", ".rc8"), 0x22222222u);
  EXPECT_EQ(permute("1", ".ecl"), 0xb3221111u);
  EXPECT_EQ(permute("1", ".ecr"), 0x11111180u);
  EXPECT_EQ(permute("1", ".rc16"), 0xb322b322u);
}

TEST(PtxBits, Fields) {
  EXPECT_EQ(one32("bfe.u32", {0x12345678}, ", 8, 12"), (U{0x456}));
  EXPECT_EQ(one32("bfe.s32", {0x00000f00, 0x00000700}, ", 8, 4"), (U{0xffffffff, 7}));
  EXPECT_EQ(one32("bfe.s32", {0x80000000}, ", 28, 12"), (U{0xfffffff8}));  // beyond the top: its sign
  EXPECT_EQ(one32("bfe.u32", {0x12345678}, ", 8, 0"), (U{0}));
  EXPECT_EQ(one32("bfi.b32", {0xff}, ", 0x12345678, 4, 8"), (U{0x12345ff8}));
  EXPECT_EQ(one32("bfi.b32", {0xff}, ", 0x12345678, 40, 8"), (U{0x12345678}));
  EXPECT_EQ(one64("bfi.b64", {0xff}, ", 0, 60, 8"), (L{uint64_t{15} << 60}));
}

TEST(PtxBits, CountsAndReversal) {
  EXPECT_EQ(one32("popc.b32", {0, 0xf0f0}), (U{0, 8}));
  EXPECT_EQ(one32("clz.b32", {0, 1, 0x80000000}), (U{32, 31, 0}));
  EXPECT_EQ(one32("brev.b32", {1, 0x80000001, 6}), (U{0x80000000, 0x80000001, 0x60000000}));
  EXPECT_EQ(one32("bfind.u32", {0, 1, 0x8000}), (U{0xffffffff, 0, 15}));
  EXPECT_EQ(one32("bfind.s32", {0xffffffff, 0xfffffffe}), (U{0xffffffff, 0}));
  EXPECT_EQ(one32("bfind.shiftamt.u32", {1}), (U{31}));
}

TEST(PtxBits, LogicOfWordsAndPredicates) {
  EXPECT_EQ(one32("and.b32", {0xff00ff}, ", 0xffff"), (U{0xff}));
  EXPECT_EQ(one32("xor.b32", {0xff00ff}, ", -1"), (U{0xff00ff00}));
  EXPECT_EQ(one32("not.b32", {5}), (U{0xfffffffa}));
  EXPECT_EQ(one32("cnot.b32", {5, 0}), (U{0, 1}));
  EXPECT_EQ(one32("lop3.b32", {0xf0f0f0f0}, ", 0xcccccccc, 0xaaaaaaaa, 0x96"), (U{0xf0f0f0f0 ^ 0xcccccccc ^ 0xaaaaaaaa}));
  EXPECT_EQ(one32("lop3.b32", {0xff00ff00}, ", 0x12345678, 0x9abcdef0, 0xca"), (U{0x12bc56f0}));  // a ? b : c
  const std::string body =
      "ld.global.u32 %r1, [%x]; setp.gt.s32 %p1, %r1, 2; setp.lt.s32 %p2, %r1, 5; and.pred %p3, %p1, %p2; not.pred %p4, %p3;"
      "xor.pred %p5, %p4, %p1; mov.pred %p6, -1; or.pred %p5, %p5, !%p6; selp.u32 %r2, 1, 0, %p3; @%p5 add.s32 %r2, %r2, 10;"
      "@!%p5 add.s32 %r2, %r2, 20; st.global.u32 [%y], %r2;";
  // x: 1 → p3 0, p4 1, p5 = 1; 3 → p3 1, p4 0, p5 = 1; 9 → p3 0, p4 1, p1 1: p5 = 0.
  EXPECT_EQ(map<uint32_t>(body, U{1, 3, 9}), (U{10, 11, 20}));
}

TEST(PtxCompare, RelationsCombineWithPredicates) {
  auto holds = [](const std::string& relation, uint32_t a, uint32_t b) {
    return map<uint32_t>("ld.global.u32 %r1, [%x]; setp." + relation + " %p1, %r1, " + std::to_string(b) +
                             "; selp.b32 %r2, 1, 0, %p1; st.global.u32 [%y], %r2;",
                         U{a})[0] == 1;
  };
  EXPECT_TRUE(holds("lt.s32", 0xffffffff, 1));
  EXPECT_FALSE(holds("lt.u32", 0xffffffff, 1));
  EXPECT_TRUE(holds("lo.u32", 0, 1));
  EXPECT_TRUE(holds("hs.u32", 1, 1));
  EXPECT_TRUE(holds("ne.b32", 2, 1));
  const std::string pair =
      "ld.global.u32 %r1, [%x]; setp.eq.u32 %p3, %r1, 7; setp.ge.or.u32 %p1|%p2, %r1, 5, %p3;"
      "selp.b32 %r2, 1, 0, %p1; @%p2 add.s32 %r2, %r2, 2; st.global.u32 [%y], %r2;";
  // p = (x >= 5) | x == 7, q = (x < 5) | x == 7
  EXPECT_EQ(map<uint32_t>(pair, U{4, 5, 7}), (U{2, 1, 3}));
  EXPECT_EQ(map<uint32_t>("ld.global.u32 %r1, [%x]; set.lt.u32.s32 %r2, %r1, 3; st.global.u32 [%y], %r2;", U{1, 3}),
            (U{~0u, 0}));
  EXPECT_EQ(one32("slct.b32.s32", {1, 0x80000000}, ", 77, %r1"), (U{1, 77}));
}

TEST(PtxMove, PartsOfRegisters) {
  EXPECT_EQ(map<uint32_t>("ld.global.u32 %r1, [%x]; mov.b32 {%h1, %h2}, %r1; mov.b32 %r2, {%h2, %h1}; st.global.u32 [%y], %r2;",
                          U{0x12345678}),
            (U{0x56781234}));
  EXPECT_EQ(map<uint64_t>("ld.global.u64 %q1, [%x]; mov.b64 {_, %r2}, %q1; mov.b64 %q2, {%r2, 5}; st.global.u64 [%y], %q2;",
                          L{0x123456789abcdef0}),
            (L{0x512345678}));
}

TEST(PtxMove, SpecialRegisters) {
  U x(1), y(96);
  auto text = entry(
      "mov.u32 %r1, %laneid; mov.u32 %r2, %warpid; shl.b32 %r2, %r2, 8; or.b32 %r1, %r1, %r2; mov.u32 %r3, %nctaid.x;"
      "shl.b32 %r3, %r3, 16; or.b32 %r1, %r1, %r3; st.global.u32 [%y], %r1;");
  ASSERT_TRUE(launch(text, x, y, 48, 2));
  EXPECT_EQ(y[0], 0x20000u);
  EXPECT_EQ(y[47], 0x2010fu);
  EXPECT_EQ(y[48 + 33], 0x20101u);
}

}  // namespace
}  // namespace sheaf::ptx
