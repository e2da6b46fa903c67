// Compiled with -march=x86-64-v3 (runtime/CMakeLists.txt): 16 registers of 8 values.
namespace {
constexpr int lanes = 8;
constexpr int most_rows = 6;  // 12 sums, two of b, one of a
}  // namespace

#include "runtime/cpu/winograd/kernels.inc.h"

namespace sheaf::winograd::v3 {
const KernelTable f32 = table<F32, Singles>("x86-64-v3"), bf16 = table<Bf16, Singles>("x86-64-v3");
}
