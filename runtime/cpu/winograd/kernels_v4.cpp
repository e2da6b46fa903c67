// Compiled with -march=x86-64-v4 (runtime/CMakeLists.txt): 32 registers of 16 values.
namespace {
constexpr int lanes = 16;
constexpr int most_rows = 14;  // 28 sums, two of b
}  // namespace

#include "runtime/cpu/winograd/kernels.inc.h"

namespace sheaf::winograd::v4 {
const KernelTable f32 = table<F32, Singles>("x86-64-v4"), bf16 = table<Bf16, Singles>("x86-64-v4");
}
