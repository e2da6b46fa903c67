#include "runtime/cpu/norm/kernels.h"

#include "runtime/machine/isa.h"

namespace sheaf::norm {

const KernelTable* kernels_of([[maybe_unused]] DType dtype, [[maybe_unused]] int64_t channels) {
#if defined(__x86_64__)
  if (dtype != DType::float32 && dtype != DType::bfloat16) return nullptr;
  const bool wide = dtype == DType::float32;
  if (has_avx512() && channels % v4::f32.lanes == 0) return wide ? &v4::f32 : &v4::bf16;
  if (has_avx2() && channels % v3::f32.lanes == 0) return wide ? &v3::f32 : &v3::bf16;
#endif
  return nullptr;
}

}  // namespace sheaf::norm
