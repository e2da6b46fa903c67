#include "runtime/cpu/recurrent/kernels.h"

#include "runtime/machine/channel_tables.h"

namespace sheaf::recurrent {

const KernelTable* kernels_of([[maybe_unused]] int64_t hidden) {
#if defined(__x86_64__)
  return table_for(v4::table, v3::table, hidden);
#else
  return nullptr;
#endif
}

}  // namespace sheaf::recurrent
