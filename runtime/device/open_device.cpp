#include "runtime/cpu/cpu_device.h"
#include "runtime/device/device.h"

namespace sheaf {

Result<std::shared_ptr<Device>> open_device(const DeviceSpec& spec) {
  if (spec.kind == DeviceKind::cpu) return std::shared_ptr<Device>(cpu_device());
  Error error("device " + to_string(spec) + " cannot be used: this build has no CUDA backend");
  error.note("name CPU devices instead: cpu:0,cpu:1, or cpu alone to run everything on the host");
  return error;
}

}  // namespace sheaf
