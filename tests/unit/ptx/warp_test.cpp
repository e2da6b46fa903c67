#include "tests/unit/ptx/ptx_test.h"

#include <numeric>

namespace sheaf::ptx {
namespace {

using U = std::vector<uint32_t>;
using ::testing::AllOf;
using ::testing::HasSubstr;

U numbers(uint32_t count) {
  U values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

U warp(const std::string& body) {
  return map<uint32_t>("ld.global.u32 %r1, [%x];" + body + "st.global.u32 [%y], %r2;", numbers(32));
}

TEST(PtxShuffle, DirectionsAndRange) {
  // The predicate adds 100 where the source is in range.
  const std::string mark = "@%p1 add.s32 %r2, %r2, 100;";
  for (auto [mode, value, clamp] : {std::tuple{"down", 5, 0x1f},
                                    {"up", 5, 0},
                                    {"bfly", 12, 0x1f},
                                    {"idx", 7, 0x1f},
                                    {"down", 3, 0x181f},
                                    {"up", 3, 0x1800},
                                    {"idx", 2, 0x181f},
                                    {"bfly", 4, 0x1c1f}}) {
    const U y = warp("shfl.sync." + std::string(mode) + ".b32 %r2|%p1, %r1, " + std::to_string(value) + ", " +
                     std::to_string(clamp) + ", -1;" + mark);
    const uint32_t segment = 32 - (clamp >> 8 & 31);  // threads that exchange among themselves
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const int first = static_cast<int>(lane / segment * segment), last = first + static_cast<int>(segment) - 1;
      const int at = static_cast<int>(lane);
      const int source = mode == std::string("down")   ? at + value
                         : mode == std::string("up")   ? at - value
                         : mode == std::string("bfly") ? at ^ value
                                                       : first + value;
      // bfly is bounded only above.
      const bool valid = source <= last && (source >= first || mode == std::string("bfly"));
      EXPECT_EQ(y[lane], valid ? static_cast<uint32_t>(source) + 100 : lane)
          << mode << " " << value << " " << clamp << " " << lane;
    }
  }
}

TEST(PtxShuffle, MeetsAfterDivergence) {
  // Odd threads take another way to the shuffle, which comes after them.
  const U y = warp(
      "and.b32 %r3, %r1, 1; setp.eq.s32 %p1, %r3, 0; @%p1 bra even; add.s32 %r1, %r1, 1000; add.s32 %r1, %r1, 1000;\n"
      "even: shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;");
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(y[lane], lane % 2 ? lane - 1 : lane + 2001);
}

TEST(PtxShuffle, PartOfTheWarpByItsMask) {
  // Only the lower half shuffles, in a branch of its own.
  const U y =
      warp("mov.u32 %r2, 7; setp.gt.u32 %p1, %r1, 15; @%p1 bra done; shfl.sync.bfly.b32 %r2, %r1, 8, 31, 0xffff;\ndone:");
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(y[lane], lane < 16 ? lane ^ 8 : 7);
}

TEST(PtxShuffle, WaitsNotForThreadsThatHaveEnded) {
  U x = numbers(32), y(32);
  auto done = launch(
      entry("setp.gt.u32 %p1, %i, 7; @%p1 exit; shfl.sync.down.b32 %r2, %i, 1, 31, -1; st.global.u32 [%y], %r2;"), x, y, 32);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(y[6], 7u);
  EXPECT_EQ(y[7], 0x7fffdeadu);  // from one that has ended: undefined
}

TEST(PtxShuffle, DeadlockNamesTheThreadsThatAreMissing) {
  U x = numbers(32), y(32);
  const std::string text =
      entry("setp.gt.u32 %p1, %i, 7;\n@%p1 bra other;\nshfl.sync.down.b32 %r2, %i, 1, 31, -1;\nother: bar.sync 0;");
  EXPECT_THAT(failure(text, x, y, 32),
              AllOf(HasSubstr("test.ptx:12:"), HasSubstr("deadlock: threads 0 to 7 wait at line 12 for threads 8 to 31"),
                    HasSubstr("threads 8 to 31 wait at line 13"), HasSubstr("none has ended")));
}

TEST(PtxVote, OverThoseNamed) {
  const std::string head = "setp.lt.u32 %p1, %r1, 20;";
  for (uint32_t value : warp(head + "vote.sync.ballot.b32 %r2, %p1, -1;")) EXPECT_EQ(value, 0xfffffu);
  for (uint32_t value : warp(head + "vote.sync.ballot.b32 %r2, !%p1, -1;")) EXPECT_EQ(value, 0xfff00000u);
  for (uint32_t value :
       warp(head + "vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, %p1, -1; vote.sync.uni.pred %p4, %p1, -1;"
                   "selp.u32 %r2, 1, 0, %p2; @%p3 add.u32 %r2, %r2, 2; @%p4 add.u32 %r2, %r2, 4;"))
    EXPECT_EQ(value, 1u);
  for (uint32_t value : warp("redux.sync.add.s32 %r2, %r1, -1;")) EXPECT_EQ(value, 496u);
  for (uint32_t value : warp("redux.sync.max.u32 %r2, %r1, -1;")) EXPECT_EQ(value, 31u);
  const U y = warp("and.b32 %r3, %r1, 3; match.sync.any.b32 %r2, %r3, -1;");
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(y[lane], 0x11111111u << lane % 4);
}

TEST(PtxBarrier, ReducesOverTheBlock) {
  U x = numbers(80), y(80);
  auto done = launch(
      entry("setp.lt.u32 %p1, %i, 50; bar.red.popc.u32 %r1, 0, %p1; bar.red.or.pred %p2, 0, !%p1; bar.red.and.pred %p3, 0, %p1;"
            "@%p2 add.s32 %r1, %r1, 1000; @%p3 add.s32 %r1, %r1, 2000; st.global.u32 [%y], %r1;"),
      x, y, 80);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(y, U(80, 1050));
}

TEST(PtxBarrier, OfSomeWarps) {
  U x = numbers(96), y(96);
  // The first two warps meet at barrier 1, the last goes its own way.
  auto done =
      launch(entry("mov.u32 %r1, %warpid; setp.eq.u32 %p1, %r1, 2; @%p1 bra end; bar.sync 1, 64; st.global.u32 [%y], 5;\nend:"),
             x, y, 96);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(std::accumulate(y.begin(), y.end(), 0u), 320u);
}

TEST(PtxBarrier, ThatCannotComplete) {
  U x = numbers(64), y(64);
  EXPECT_THAT(failure(entry("setp.gt.u32 %p1, %i, 40; @%p1 bra b;\nbar.sync 0; bra end;\nb: bar.sync 1;\nend:"), x, y, 64),
              AllOf(HasSubstr("deadlock: threads 0 to 40 wait at line 11; threads 41 to 63 wait at line 12")));
  EXPECT_THAT(failure(entry("setp.gt.u32 %p1, %i, 40; @%p1 bra b;\nbar.sync 0; bra end;\nb: bar.sync 0;\nend:"), x, y, 64),
              HasSubstr("threads of one warp wait at different barrier instructions"));
}

TEST(PtxControl, LoopsBranchTablesAndCalls) {
  // The sum of 1 … x, each thread with another count.
  EXPECT_EQ(map<uint32_t>("ld.global.u32 %r1, [%x]; mov.u32 %r2, 0;\nloop: setp.eq.u32 %p1, %r1, 0; @%p1 bra done;"
                          "add.s32 %r2, %r2, %r1; sub.s32 %r1, %r1, 1; bra.uni loop;\ndone: st.global.u32 [%y], %r2;",
                          numbers(5)),
            (U{0, 1, 3, 6, 10}));
  EXPECT_EQ(map<uint32_t>(
                "ld.global.u32 %r1, [%x]; table: .branchtargets a, b, c; brx.idx %r1, table;\na: mov.u32 %r2, 10; bra end;\n"
                "b: mov.u32 %r2, 20; bra end;\nc: mov.u32 %r2, 30;\nend: st.global.u32 [%y], %r2;",
                U{2, 0, 1, 2}),
            (U{30, 10, 20, 30}));
  const std::string square =
      ".func (.param .b32 result) square(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %p; ld.param.b32 %r1, [a]; setp.eq.u32 "
      "%p, %r1, 3;"
      "@%p bra nine; mul.lo.s32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret;\nnine: st.param.b32 [result], 9; ret; }\n";
  U x = numbers(6), y(6);
  auto done = launch(
      entry("ld.global.u32 %r1, [%x]; { .param .b32 a0; .param .b32 r0; st.param.b32 [a0], %r1; call.uni (r0), square, (a0);"
            "ld.param.b32 %r2, [r0]; } { .param .b32 a0; .param .b32 r0; st.param.b32 [a0], 5; call (r0), square, (a0);"
            "ld.param.b32 %r3, [r0]; } add.s32 %r2, %r2, %r3; st.global.u32 [%y], %r2;",
            4, square),
      x, y, 6);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(y, (U{25, 26, 29, 34, 41, 50}));
}

TEST(PtxControl, AnEndlessLoopIsAnError) {
  U x(1), y(1);
  LaunchOptions options;
  options.instruction_limit = 10000;
  EXPECT_THAT(failure(entry("loop: bra loop;"), x, y, 1, 1, options), HasSubstr("it hangs"));
  EXPECT_THAT(failure(entry("trap;"), x, y, 1), HasSubstr("trap"));
}

TEST(PtxControl, CountsInstructions) {
  U x(40), y(40);
  auto done = launch(
      std::string(kHeader) + ".entry k(.param .u64 a, .param .u64 b, .param .u64 c) { .reg .b32 %r; mov.u32 %r, 1; ret; }", x,
      y, 40, 2);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->warp_instructions, 8u);  // 2 blocks of 2 warps
  EXPECT_EQ(done->thread_instructions, 160u);
}

}  // namespace
}  // namespace sheaf::ptx
