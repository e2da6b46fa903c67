#include "runtime/cpu/depthwise/kernels.h"

#include "runtime/machine/channel_tables.h"

namespace sheaf::depthwise {

const KernelTable* kernels_of([[maybe_unused]] DType dtype, [[maybe_unused]] int64_t channels) {
#if defined(__x86_64__)
  return ChannelTables<KernelTable>{v4::f32, v4::bf16, v3::f32, v3::bf16}.of(dtype, channels);
#else
  return nullptr;
#endif
}

}  // namespace sheaf::depthwise
