// Compiled with -march=x86-64-v4 -mavx512bf16 (runtime/CMakeLists.txt): products of pairs of bf16, summed in f32.
namespace {
constexpr int lanes = 16;
constexpr int most_rows = 14;  // 28 sums, two of b
}  // namespace

#include "runtime/cpu/winograd/pairs.inc.h"

namespace sheaf::winograd::v4_bf16 {

const KernelTable narrow = narrow_table("x86-64-v4 with bf16");

}  // namespace sheaf::winograd::v4_bf16
