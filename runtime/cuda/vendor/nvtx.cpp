#include "runtime/cuda/vendor/nvtx.h"

#ifdef SHEAF_HAVE_NVTX_HEADER
#include <nvtx3/nvToolsExt.h>
#endif

#include <cstdlib>

namespace sheaf::cuda {

Nvtx::Nvtx() {
  // Profilers name themselves so to what they start; without one there is nobody to tell.
  if (!std::getenv("NVTX_INJECTION64_PATH")) return;
#ifdef SHEAF_HAVE_NVTX_HEADER
  push_ = [](const char* name) { return nvtxRangePushA(name); };
  pop_ = [] { return nvtxRangePop(); };
#else
  auto library = SharedLibrary::open("NVTX", {"libnvToolsExt.so.1"});
  if (!library) return;
  library_ = std::move(*library);
  (void)Symbols(*library_).optional("nvtxRangePushA", push_).optional("nvtxRangePop", pop_);
#endif
}

}  // namespace sheaf::cuda
