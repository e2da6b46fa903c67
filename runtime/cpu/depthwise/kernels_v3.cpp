// Compiled with -march=x86-64-v3 (runtime/CMakeLists.txt): 16 registers of 8 values.
namespace {
constexpr int lanes = 8;
constexpr int most_sums = 10;
}  // namespace

#include "runtime/cpu/depthwise/kernels.inc.h"

namespace sheaf::depthwise::v3 {
const KernelTable f32 = table<F32>("x86-64-v3"), bf16 = table<Bf16>("x86-64-v3");
}
