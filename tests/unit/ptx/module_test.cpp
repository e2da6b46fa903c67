// What the emulator does not know, and races.
#include "tests/unit/ptx/ptx_test.h"

namespace sheaf::ptx {
namespace {

using U = std::vector<uint32_t>;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  auto module = PtxModule::parse(text, "m.ptx");
  return module ? "it was accepted" : to_string(module.error());
}

TEST(PtxModule, ListsEntriesAndParameters) {
  auto module = PtxModule::parse(std::string(kHeader) +
                                 "// comment\n.visible .entry a(.param .u64 a_0, .param .align 8 .b8 a_1[24]) { ret; }\n"
                                 ".entry b() .reqntid 32, 1, 1 .minnctapersm 2 { ret; }");
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_EQ(module->entries(), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(module->parameters("a").size(), 2u);
  EXPECT_EQ(module->parameters("a")[1].bytes, 24u);
  EXPECT_EQ(module->parameters("a")[1].name, "a_1");
  HostMemory memory;
  EXPECT_TRUE(module->launch("b", {{1, 1, 1}, {32, 1, 1}, 0}, nullptr, memory));
  EXPECT_FALSE(module->launch("b", {{1, 1, 1}, {64, 1, 1}, 0}, nullptr, memory));
  EXPECT_FALSE(module->launch("b", {{0, 1, 1}, {32, 1, 1}, 0}, nullptr, memory));
  EXPECT_FALSE(module->launch("c", {{1, 1, 1}, {32, 1, 1}, 0}, nullptr, memory));
}

TEST(PtxModule, WhatItDoesNotKnowIsAnErrorOfTheLine) {
  EXPECT_THAT(refusal(entry("\nwgmma.fence.sync.aligned;")), AllOf(HasSubstr("m.ptx:11:"), HasSubstr("'wgmma' is not known")));
  EXPECT_THAT(refusal(entry("add.f32.strange %f1, %f2, %f3;")), HasSubstr("modifier '.strange'"));
  EXPECT_THAT(refusal(entry("add.cc.u32 %r1, %r2, %r3;")), HasSubstr("modifier '.cc'"));
  EXPECT_THAT(refusal(entry("add.u32 %r1, %r2;")), HasSubstr("too few operands"));
  EXPECT_THAT(refusal(entry("add.u64 %q1, %q2, %r3;")), HasSubstr("'%r3' is of another size"));
  EXPECT_THAT(refusal(entry("add.u32 %r1, %r2, %nothing;")), HasSubstr("'%nothing' is not declared"));
  EXPECT_THAT(refusal(entry("mov.u32 %r1, %clock;")), HasSubstr("'%clock' is not declared, or a special register"));
  EXPECT_THAT(refusal(entry("bra nowhere;")), HasSubstr("label 'nowhere'"));
  EXPECT_THAT(refusal(entry("cvt.f16.f32 %h1, %f1;")), HasSubstr("'cvt' of these types"));  // a rounding is missing
  EXPECT_THAT(refusal(entry("ld.shared.u32 %r1, [k_0];")), HasSubstr("lies in another space"));
  EXPECT_THAT(refusal(entry("add.u32 %r1, %r2, 0q;")), HasSubstr("expected an operand"));
  EXPECT_THAT(refusal(std::string(kHeader) + ".tex .u64 t;"), HasSubstr("directive '.tex'"));
  EXPECT_THAT(refusal(std::string(kHeader) + ".entry k() { ret;"), HasSubstr("'}' is missing"));
  EXPECT_THAT(refusal(std::string(kHeader) + ".func f() { call f; ret; }\n.entry k() { call f; ret; }"),
              HasSubstr("calls itself"));
}

LaunchOptions races() {
  LaunchOptions options;
  options.detect_races = true;
  return options;
}

TEST(PtxRaces, BetweenThreadsAndBlocks) {
  U x(64), y(64);
  // All threads write one place; neighbours read each other's writes without a barrier; blocks share a place.
  EXPECT_THAT(failure(entry("ld.param.u64 %y, [k_1];\nst.global.u32 [%y], %i;"), x, y, 2, 1, races()),
              AllOf(HasSubstr("race with a write at line 11 by thread 0 of block 0"), HasSubstr("thread (1, 0, 0)")));
  const std::string neighbours =
      "st.global.u32 [%y], %i;\nBARRIER\nxor.b32 %r1, %i, 1; ld.param.u64 %y, [k_1]; mad.wide.u32 %y, %r1, 4, %y; "
      "ld.global.u32 %r2, [%y];";
  auto with = [&](const std::string& barrier) {
    return std::string(neighbours).replace(neighbours.find("BARRIER"), 7, barrier);
  };
  EXPECT_THAT(failure(entry(with("")), x, y, 32, 1, races()), HasSubstr("race with a write at line 10"));
  EXPECT_EQ(failure(entry(with("bar.sync 0;")), x, y, 32, 1, races()), "it did not fail");
  EXPECT_EQ(failure(entry(with("bar.warp.sync -1;")), x, y, 64, 1, races()), "it did not fail");
  EXPECT_THAT(
      failure(
          entry("bar.sync 0; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; ld.param.u64 %y, [k_1]; ld.global.u32 %r2, [%y];"
                "@!%p1 st.global.u32 [%y], %i;"),
          x, y, 1, 2, races()),
      HasSubstr("race with a read"));
  EXPECT_EQ(failure(entry("red.global.add.u32 [%y], 1;"), x, y, 32, 2, races()), "it did not fail");
  EXPECT_THAT(
      failure(entry("ld.param.u64 %y, [k_1]; red.global.add.u32 [%y], 1; ld.global.u32 %r1, [%y];"), x, y, 32, 1, races()),
      HasSubstr("race with an atomic access"));
  // The same place, but by turns: a barrier between.
  EXPECT_EQ(
      failure(
          entry(
              "ld.param.u64 %y, [k_1]; setp.eq.u32 %p1, %i, 0; @%p1 st.global.u32 [%y], 5; bar.sync 0; ld.global.u32 %r1, [%y];"
              "bar.sync 0; setp.eq.u32 %p1, %i, 40; @%p1 st.global.u32 [%y], %r1;"),
          x, y, 64, 1, races()),
      "it did not fail");
}

TEST(PtxRaces, InSharedMemory) {
  U x(64), y(64);
  const std::string text = ".shared .b8 part[256]; mov.u32 %r1, part; st.shared.u32 [%r1], %i;";
  EXPECT_THAT(failure(entry(text), x, y, 2, 1, races()), HasSubstr("in shared memory, race with a write"));
  EXPECT_EQ(failure(entry(".shared .b8 part[256]; mov.u32 %r1, part; st.shared.u32 [%r1], %i;"), x, y, 1, 8, races()),
            "it did not fail");
}

TEST(PtxRaces, ReadOnlyLoads) {
  U x(64), y(64);
  EXPECT_THAT(failure(entry("ld.global.nc.u32 %r1, [%y];\nst.global.u32 [%y], 1;"), x, y, 1, 1, races()),
              HasSubstr("write to what line 10 read by ld.global.nc"));
}

TEST(PtxLaunch, BlocksMayRunInReverse) {
  U x(1), y(1);
  LaunchOptions reverse;
  reverse.reverse_blocks = true;
  const std::string text = entry("mov.u32 %r1, %ctaid.x; ld.param.u64 %y, [k_1]; st.global.u32 [%y], %r1;");
  ASSERT_TRUE(launch(text, x, y, 1, 3));
  EXPECT_EQ(y[0], 2u);
  ASSERT_TRUE(launch(text, x, y, 1, 3, 0, reverse));
  EXPECT_EQ(y[0], 0u);
}

/// Two blocks of a cooperative launch, each of which reads what the other has written.
TEST(Together, BlocksWaitForEachOther) {
  const auto with = [](const std::string& meeting) {
    return entry(
        "ld.param.u64 %q1, [k_0]; ld.param.u64 %q3, [k_1];\nadd.s32 %r1, %i, 1;\nst.global.u32 [%x], %r1;\n" + meeting +
        "\nxor.b32 %r2, %i, 1;\nmad.wide.u32 %q2, %r2, 4, %q1;\nld.global.u32 %r3, [%q2];\nst.global.u32 [%y+8], %r3;");
  };
  const auto run = [&](const std::string& text, U& y, bool together) -> std::string {
    U x(2);
    auto module = PtxModule::parse(text, "test.ptx");
    if (!module) return to_string(module.error());
    VectorMemory memory;
    memory.add(x);
    memory.add(y);
    const void *a = x.data(), *b = y.data();
    const uint64_t n = 0;
    const void* arguments[] = {&a, &b, &n};
    LaunchOptions options = races();
    options.instruction_limit = 10000;
    auto done = module->launch("k", {{2, 1, 1}, {1, 1, 1}, 0, together}, arguments, memory, options);
    return done ? "done" : to_string(done.error());
  };
  const std::string arrive = "red.global.add.u32 [%q3], 1;\n";
  const std::string wait =
      "wait: nanosleep.u32 20;\nld.volatile.global.u32 %r4, [%q3];\nsetp.lt.u32 %p1, %r4, 2;\n@%p1 bra wait;";
  U y(4);
  EXPECT_EQ(run(with(arrive + wait), y, true), "done");
  EXPECT_EQ(y, (U{2, 0, 2, 1}));
  y.assign(4, 0);
  EXPECT_THAT(run(with(arrive + wait), y, false), HasSubstr("it hangs")) << "blocks one after another";
  y.assign(4, 0);
  EXPECT_THAT(run(with(arrive), y, true), HasSubstr("race with a ")) << "nobody waits";
  y.assign(4, 0);
  EXPECT_THAT(run(with("nanosleep.u32 20;"), y, true), HasSubstr("race with a write")) << "time alone orders nothing";
}

}  // namespace
}  // namespace sheaf::ptx
