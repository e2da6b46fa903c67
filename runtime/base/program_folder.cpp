#include "runtime/base/program_folder.h"

#include <sys/auxv.h>

namespace sheaf {

std::filesystem::path program_folder(std::error_code& unknown) {
  const auto file = std::filesystem::canonical("/proc/self/exe", unknown);
  if (!unknown) return file.parent_path();
  // Where /proc isn't mounted: the path that the kernel was given.
  const auto* started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return std::filesystem::canonical(started ? started : "", unknown).parent_path();
}

}  // namespace sheaf
