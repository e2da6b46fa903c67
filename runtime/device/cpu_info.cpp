#include "runtime/device/cpu_info.h"

#include "runtime/machine/isa.h"
#include "runtime/machine/thread_pool.h"

#include <unistd.h>

namespace sheaf {
namespace {

DeviceInfo describe() {
  const auto levels = supported_isa_levels();
  DeviceInfo info;
  info.kind = "cpu";
  info.shares_host_memory = info.uses_host_cores = true;
  info.model = cpu_model_name();
  info.cores = available_cpus();
  info.isa = levels.empty() ? "x86-64" : levels.front();
  info.library = library_and_instructions();
  info.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return info;
}

}  // namespace

const DeviceInfo& cpu_info() {
  static const DeviceInfo info = describe();
  return info;
}

}  // namespace sheaf
