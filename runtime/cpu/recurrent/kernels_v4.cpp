// Compiled with -march=x86-64-v4 (runtime/CMakeLists.txt): 32 registers of 16 values.
namespace {
constexpr int lanes = 16;
constexpr int most_rows = 6;
}  // namespace

#include "runtime/cpu/recurrent/kernels.inc.h"

namespace sheaf::recurrent::v4 {
const KernelTable table = {"x86-64-v4", lanes, make_step<Lstm>, make_step<Gru>};
}
