// Compiled with -march=x86-64-v4 (runtime/CMakeLists.txt): 32 registers of 16 values.
namespace {
constexpr int lanes = 16;
constexpr int most_sums = 14;
}  // namespace

#include "runtime/cpu/depthwise/kernels.inc.h"

namespace sheaf::depthwise::v4 {
const KernelTable f32 = table<F32>("x86-64-v4"), bf16 = table<Bf16>("x86-64-v4");
}
