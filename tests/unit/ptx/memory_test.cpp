#include "tests/unit/ptx/ptx_test.h"

namespace sheaf::ptx {
namespace {

using F = std::vector<float>;
using U = std::vector<uint32_t>;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(PtxMemory, VectorsAndExtensionOfSmallTypes) {
  U x = {1, 2, 3, 4, 5, 6, 7, 8}, y(8);
  auto done = launch(entry("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%x]; st.global.v2.u32 [%y], {%r4, %r3};"
                           "st.global.v2.b32 [%y+8], {%r2, %r1};",
                           16),
                     x, y, 2);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(y, (U{4, 3, 2, 1, 8, 7, 6, 5}));
  const std::string small =
      "ld.global.s8 %r1, [%x+1]; ld.global.u8 %h1, [%x+1]; cvt.u32.u16 %r2, %h1; shl.b32 %r2, %r2, 16;"
      "ld.global.s16 %q1, [%x]; cvt.u32.u64 %r3, %q1; xor.b32 %r1, %r1, %r2; add.s32 %r1, %r1, %r3;"
      "st.global.u32 [%y], %r1;";
  EXPECT_EQ(map<uint32_t>(small, U{0x1280ff, 0x7f00}),
            (U{(0xffffff80u ^ 0x800000u) + 0xffff80ffu, (0x7fu ^ 0x7f0000u) + 0x7f00u}));
  EXPECT_EQ(map<uint32_t>("ld.global.u32 %r1, [%x]; st.global.u32 [%y], 0; st.global.u8 [%y+1], %r1; st.global.u8 [%y+2], 7;",
                          U{0x1234}),
            U{0x073400});
}

TEST(PtxMemory, AccessOutsideIsFoundAtTheInstruction) {
  U x(4), y(4);
  const std::string text = entry("ld.global.u32 %r1, [%x];\nst.global.u32 [%y+4], %r1;\n");
  EXPECT_THAT(failure(text, x, y, 4),
              AllOf(HasSubstr("test.ptx:11:"), HasSubstr("kernel 'k', block (0, 0, 0), thread (3, 0, 0)"),
                    HasSubstr("write of 4 bytes at 0x"), HasSubstr("in none of the test's buffers")));
}

TEST(PtxMemory, MisalignedAccessIsAnError) {
  U x(4), y(4);
  EXPECT_THAT(failure(entry("ld.global.v2.u32 {%r1, %r2}, [%x+4];"), x, y, 1), HasSubstr("not a multiple of 8"));
  EXPECT_THAT(failure(entry("ld.global.u32 %r1, [%x+2];"), x, y, 1), HasSubstr("not a multiple of 4"));
}

TEST(PtxMemory, SharedAndLocalAndGenericAddresses) {
  const std::string body =
      ".shared .align 16 .b8 part[512]; .local .align 8 .b8 mine[16];\n"
      "ld.global.u32 %r1, [%x]; mov.u32 %r2, part; mov.u32 %r4, %tid.x; shl.b32 %r3, %r4, 2; add.s32 %r5, %r2, %r3;"
      "st.shared.u32 [%r5], %r1; bar.sync 0; xor.b32 %r6, %r4, 1; shl.b32 %r6, %r6, 2; cvt.u64.u32 %q1, %r6; mov.u64 %q2, part;"
      "cvta.shared.u64 %q3, %q2; add.s64 %q3, %q3, %q1; ld.u32 %r7, [%q3];"  // the neighbour's, by a generic
                                                                             // address
      "mov.u64 %q4, mine; st.local.u32 [%q4+8], %r7; cvta.local.u64 %q5, %q4; ld.u32 %r8, [%q5+8];"
      "isspacep.shared %p1, %q3; isspacep.local %p2, %q5; @!%p1 mov.u32 %r8, 0; @!%p2 mov.u32 %r8, 0; st.global.u32 [%y], %r8;";
  EXPECT_EQ(map<uint32_t>(body, U{10, 11, 12, 13}), (U{11, 10, 13, 12}));
}

TEST(PtxMemory, SharedMemoryIsOfItsOwnSize) {
  U x(1), y(1);
  EXPECT_THAT(failure(entry(".shared .b8 part[64]; mov.u32 %r1, part; ld.shared.u32 %r2, [%r1+64];"), x, y, 1),
              HasSubstr("outside of the block's shared memory"));
}

TEST(PtxMemory, DynamicSharedMemory) {
  auto module = PtxModule::parse(
      std::string(kHeader) +
      ".extern .shared .align 16 .b8 dynamic[];\n.visible .entry k(.param .u64 .ptr .align 4 k_0) .maxntid 64, 1, 1 {\n"
      ".reg .b32 %r<8>; .reg .b64 %q<8>; ld.param.u64 %q1, [k_0]; mov.u32 %r1, %tid.x; mov.u32 %r2, dynamic;"
      "mad.lo.s32 %r2, %r1, 4, %r2; st.shared.u32 [%r2], %r1; bar.sync 0; ld.shared.u32 %r3, [%r2];"
      "mad.wide.u32 %q1, %r1, 4, %q1; st.global.u32 [%q1], %r3; ret; }");
  ASSERT_TRUE(module) << to_string(module.error());
  U y(64);
  VectorMemory memory;
  memory.add(y);
  const void* address = y.data();
  const void* arguments[] = {&address};
  EXPECT_TRUE(module->launch("k", {{1, 1, 1}, {64, 1, 1}, 256}, arguments, memory));
  EXPECT_EQ(y[63], 63u);
  EXPECT_FALSE(module->launch("k", {{1, 1, 1}, {64, 1, 1}, 252}, arguments, memory));
  EXPECT_FALSE(module->launch("k", {{1, 1, 1}, {65, 1, 1}, 512}, arguments, memory));  // .maxntid
}

TEST(PtxMemory, VariablesOfTheModule) {
  const std::string declarations =
      ".const .align 4 .f32 table[3] = {0f3F800000, 0f40000000, 1.5};\n"
      ".global .align 8 .u64 where = table+4;\n.global .b32 numbers[2] = {-1, 7};\n";
  U x(3), y(3);
  auto done =
      launch(entry("mov.u64 %q1, table; mad.wide.u32 %q1, %i, 4, %q1; ld.const.f32 %f1, [%q1]; ld.global.u64 %q2, [where];"
                   "ld.global.f32 %f2, [%q2]; add.f32 %f1, %f1, %f2; ld.global.u32 %r1, [numbers+4]; cvt.rn.f32.u32 %f3, %r1;"
                   "add.f32 %f1, %f1, %f3; st.global.f32 [%y], %f1;",
                   4, declarations),
             x, y, 3);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(y, (U{bits(10), bits(11), bits(10.5f)}));
}

TEST(PtxAtomics, EachThreadCounts) {
  U x(1), y = {0, 100, 100, 0xff, 0, 5, 0, 0};
  const std::string body =
      "ld.param.u64 %y, [k_1]; red.global.add.u32 [%y], 1; atom.global.min.s32 %r1, [%y+4], %i;"
      "atom.global.max.u32 %r1, [%y+8], %i; red.global.and.b32 [%y+12], %i; atom.global.cas.b32 %r2, [%y+16], 0, 9;"
      "atom.global.inc.u32 %r3, [%y+20], 5; atom.add.f32 %f1, [%y+24], 0f3F000000; atom.global.exch.b32 %r4, [%y+28], %i;";
  auto done = launch(entry(body), x, y, 64, 3);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(y, (U{192, 0, 191, 0, 9, (5 + 192) % 6, bits(96), 191}));
}

TEST(PtxAtomics, GiveTheOldValue) {
  EXPECT_EQ(
      map<uint32_t>("atom.global.add.u32 %r1, [%x], 5; ld.global.u32 %r2, [%x]; shl.b32 %r2, %r2, 8; or.b32 %r1, %r1, %r2;"
                    "st.global.u32 [%y], %r1;",
                    U{1, 2}),
      (U{0x601, 0x702}));
  // 2 halves: 1 + 1, and 2^-24 + 2^-24.
  EXPECT_EQ(map<uint32_t>("mov.b32 %r3, 0x00013c00; atom.global.add.noftz.f16x2 %r1, [%x], %r3; ld.global.u32 %r2, [%x]; "
                          "st.global.u32 [%y], %r2;",
                          U{0x00013c00}),
            U{0x00024000});
}

}  // namespace
}  // namespace sheaf::ptx
