#include "runtime/cuda/queue_kernels.h"

namespace sheaf::cuda {

// Rows go over the grid's y, units of a row over x and the block's threads; both step on. `units` is of a row.
#define SHEAF_GUARDED_COPY(BYTES, SHIFT, LOAD, STORE)                               \
  ".visible .entry sheaf_copy_" BYTES                                               \
  "(.param .u64 target, .param .u64 source, .param .u64 units, .param .u64 rows,\n" \
  "  .param .u64 source_pitch, .param .u64 target_pitch, .param .u64 guard)\n"      \
  "{\n"                                                                             \
  "  .reg .pred %p<5>;\n"                                                           \
  "  .reg .b16 %h<2>;\n"                                                            \
  "  .reg .b32 %r<12>;\n"                                                           \
  "  .reg .b64 %d<28>;\n"                                                           \
  "  ld.param.u64 %d1, [guard];\n"                                                  \
  "  setp.eq.s64 %p1, %d1, 0;\n"                                                    \
  "  @%p1 bra $open_" BYTES                                                         \
  ";\n"                                                                             \
  "  cvta.to.global.u64 %d2, %d1;\n"                                                \
  "  ld.global.u32 %r1, [%d2];\n"                                                   \
  "  setp.ne.s32 %p2, %r1, 0;\n"                                                    \
  "  @%p2 bra $end_" BYTES                                                          \
  ";\n"                                                                             \
  "$open_" BYTES                                                                    \
  ":\n"                                                                             \
  "  ld.param.u64 %d3, [target];\n"                                                 \
  "  ld.param.u64 %d4, [source];\n"                                                 \
  "  ld.param.u64 %d5, [units];\n"                                                  \
  "  ld.param.u64 %d6, [rows];\n"                                                   \
  "  ld.param.u64 %d7, [source_pitch];\n"                                           \
  "  ld.param.u64 %d8, [target_pitch];\n"                                           \
  "  cvta.to.global.u64 %d9, %d3;\n"                                                \
  "  cvta.to.global.u64 %d10, %d4;\n"                                               \
  "  mov.u32 %r2, %ctaid.x;\n"                                                      \
  "  mov.u32 %r3, %ntid.x;\n"                                                       \
  "  mov.u32 %r4, %tid.x;\n"                                                        \
  "  mul.wide.u32 %d11, %r2, %r3;\n"                                                \
  "  cvt.u64.u32 %d12, %r4;\n"                                                      \
  "  add.s64 %d13, %d11, %d12;\n"                                                   \
  "  mov.u32 %r5, %nctaid.x;\n"                                                     \
  "  mul.wide.u32 %d14, %r5, %r3;\n"                                                \
  "  mov.u32 %r6, %ctaid.y;\n"                                                      \
  "  cvt.u64.u32 %d15, %r6;\n"                                                      \
  "  mov.u32 %r7, %nctaid.y;\n"                                                     \
  "  cvt.u64.u32 %d16, %r7;\n"                                                      \
  "$row_" BYTES                                                                     \
  ":\n"                                                                             \
  "  setp.ge.u64 %p3, %d15, %d6;\n"                                                 \
  "  @%p3 bra $end_" BYTES                                                          \
  ";\n"                                                                             \
  "  mul.lo.s64 %d17, %d15, %d8;\n"                                                 \
  "  add.s64 %d18, %d9, %d17;\n"                                                    \
  "  mul.lo.s64 %d19, %d15, %d7;\n"                                                 \
  "  add.s64 %d20, %d10, %d19;\n"                                                   \
  "  mov.u64 %d21, %d13;\n"                                                         \
  "$unit_" BYTES                                                                    \
  ":\n"                                                                             \
  "  setp.ge.u64 %p4, %d21, %d5;\n"                                                 \
  "  @%p4 bra $next_" BYTES                                                         \
  ";\n"                                                                             \
  "  shl.b64 %d22, %d21, " SHIFT                                                    \
  ";\n"                                                                             \
  "  add.s64 %d23, %d20, %d22;\n"                                                   \
  "  add.s64 %d24, %d18, %d22;\n" LOAD STORE                                        \
  "  add.s64 %d21, %d21, %d14;\n"                                                   \
  "  bra.uni $unit_" BYTES                                                          \
  ";\n"                                                                             \
  "$next_" BYTES                                                                    \
  ":\n"                                                                             \
  "  add.s64 %d15, %d15, %d16;\n"                                                   \
  "  bra.uni $row_" BYTES                                                           \
  ";\n"                                                                             \
  "$end_" BYTES                                                                     \
  ":\n"                                                                             \
  "  ret;\n"                                                                        \
  "}\n"

const char* QueueKernels::ptx() {
  return ".version 7.0\n.target sm_80\n.address_size 64\n"  //
      SHEAF_GUARDED_COPY("16", "4", "  ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%d23];\n",
                         "  st.global.v4.u32 [%d24], {%r8, %r9, %r10, %r11};\n")
          SHEAF_GUARDED_COPY("4", "2", "  ld.global.u32 %r8, [%d23];\n", "  st.global.u32 [%d24], %r8;\n")
              SHEAF_GUARDED_COPY("1", "0", "  ld.global.u8 %h1, [%d23];\n", "  st.global.u8 [%d24], %h1;\n") R"(
.visible .entry sheaf_report(.param .u64 status, .param .u64 indices, .param .u64 index_bytes,
  .param .u64 report, .param .u64 flag)
{
  .reg .pred %p<3>;
  .reg .b32 %r<3>;
  .reg .b64 %d<20>;
  ld.param.u64 %d1, [status];
  ld.param.u64 %d2, [indices];
  ld.param.u64 %d3, [index_bytes];
  ld.param.u64 %d4, [report];
  ld.param.u64 %d5, [flag];
  cvta.to.global.u64 %d6, %d1;
  cvta.to.global.u64 %d7, %d2;
  cvta.to.global.u64 %d8, %d4;
  cvta.to.global.u64 %d9, %d5;
  ld.global.u64 %d10, [%d6];
  st.global.u64 [%d8], %d10;
  setp.eq.s64 %p1, %d10, 0;
  @%p1 bra $done;
  not.b64 %d11, %d10;
  mul.lo.s64 %d12, %d11, %d3;
  add.s64 %d13, %d7, %d12;
  setp.eq.s64 %p2, %d3, 8;
  @%p2 bra $wide;
  ld.global.u32 %r1, [%d13];
  cvt.s64.s32 %d14, %r1;
  bra.uni $found;
$wide:
  ld.global.u64 %d14, [%d13];
$found:
  st.global.u64 [%d8+8], %d14;
  mov.u32 %r2, 1;
  st.global.u32 [%d9], %r2;
$done:
  ret;
}
)";
}

#undef SHEAF_GUARDED_COPY

}  // namespace sheaf::cuda
