#include "runtime/cpu/winograd/kernels.h"

#include "runtime/machine/isa.h"
#include "runtime/cpu/winograd/tiles.h"

namespace sheaf::winograd {

const KernelTable* kernels_of([[maybe_unused]] Element element, [[maybe_unused]] bool narrow) {
#if defined(__x86_64__)
  if (has_amx() && element == Element::bf16 && narrow) return &v4_amx::narrow;
  if (has_bf16() && element == Element::bf16 && narrow) return &v4_bf16::narrow;
  if (has_avx512()) return element == Element::f32 ? &v4::f32 : &v4::bf16;
  if (has_avx2()) return element == Element::f32 ? &v3::f32 : &v3::bf16;
#endif
  return nullptr;
}

const KernelTable* split_kernels() {
#if defined(__x86_64__)
  if (has_amx()) return &v4_amx::split;
#endif
  return nullptr;
}

void* outside_of_x() {
  alignas(64) static char zeros[largest_unit * outside_bytes];
  return zeros;
}

}  // namespace sheaf::winograd
