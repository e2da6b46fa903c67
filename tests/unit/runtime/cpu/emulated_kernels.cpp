// The tables of kernels_v4_amx.cpp with emulated tiles, as sheaf::winograd::emulated. Compiled with AVX-512 and its bf16, without AMX
// (tests/CMakeLists.txt).
#if defined(__x86_64__)

#include "tests/unit/runtime/cpu/emulated_tiles.h"

#define v4_amx emulated
#include "runtime/cpu/winograd/kernels_v4_amx.cpp"

#endif
