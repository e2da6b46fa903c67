#include "runtime/cpu/recurrent/kernels.h"

#include "runtime/machine/isa.h"

namespace sheaf::recurrent {

const KernelTable* kernels_of([[maybe_unused]] int64_t hidden) {
#if defined(__x86_64__)
  if (has_avx512() && hidden % v4::table.lanes == 0) return &v4::table;
  if (has_avx2() && hidden % v3::table.lanes == 0) return &v3::table;
#endif
  return nullptr;
}

}  // namespace sheaf::recurrent
