#include "runtime/cuda/kept.h"

#include <atomic>
#include <cstdio>

namespace sheaf::cuda {

KeptFiles kept_files() { return KeptFiles::of_user("gpu"); }

void keep(std::string_view key, std::string_view text) {
  const auto kept = kept_files().keep(key, text);
  static std::atomic<bool> warned{false};
  if (kept || warned.exchange(true, std::memory_order_relaxed)) return;
  std::fprintf(stderr, "warning: what is compiled for the GPU isn't kept, and will be made again: %s\n",
               to_string(kept.error()).c_str());
}

}  // namespace sheaf::cuda
