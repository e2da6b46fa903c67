#include "runtime/cpu/cpu_device.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/session/open_devices.h"

namespace sheaf {

Result<DeviceSet> open_devices(const std::vector<DeviceSpec>& list, int threads) {
  if (threads <= 0) threads = available_cpus();
  std::vector<std::shared_ptr<Device>> entries;
  std::vector<std::string> names;
  if (!is_host_only(list)) {
    for (const DeviceSpec& spec : list) {
      auto device = open_device(spec);
      if (!device) return device.error();
      entries.push_back(std::move(*device));
      names.push_back(to_string(spec));
    }
  }
  return DeviceSet(cpu_device(), std::move(entries), std::move(names), threads);
}

}  // namespace sheaf
