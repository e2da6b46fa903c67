#include "runtime/base/memory_file.h"

#include "runtime/base/write_all.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace sheaf {

Result<Descriptor> memory_file(std::string_view bytes) {
  Descriptor file(memfd_create("sheaf", MFD_CLOEXEC));
  if (!file.open() || !write_all(file.get(), bytes))
    return Error(std::string("no room for a file in memory: ") + std::strerror(errno));
  return file;
}

}  // namespace sheaf
