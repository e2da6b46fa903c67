// Compiled with -march=x86-64-v3 (runtime/CMakeLists.txt): 16 registers of 8 values.
namespace {
constexpr int lanes = 8;
constexpr int most_rows = 2;
}  // namespace

#include "runtime/cpu/recurrent/kernels.inc.h"

namespace sheaf::recurrent::v3 {
const KernelTable table = {"x86-64-v3", lanes, make_step<Lstm>, make_step<Gru>};
}
