#include "runtime/session/open_devices.h"

#include "runtime/cpu/cpu_device.h"

#ifdef SHEAF_CUDA_BACKEND
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/vendor/backend.h"

#include <map>
#include <mutex>
#endif

namespace sheaf {
namespace {

Error unusable(const DeviceSpec& spec, const std::string& why) {
  Error error("device " + to_string(spec) + " cannot be used: " + why);
  error.note("`sheaf devices` says what there is");
  return error.note("name CPU devices instead: cpu:0,cpu:1, or cpu alone to run everything on the host");
}

#ifdef SHEAF_CUDA_BACKEND
Result<std::shared_ptr<Device>> open_cuda_device(const DeviceSpec& spec) {
  auto backend = cuda::nvidia_backend();
  if (!backend) return unusable(spec, backend.error().message());
  const int count = (*backend)->driver().devices();
  if (spec.index >= count) {
    const std::string last = count == 1 ? "cuda:0 alone" : "cuda:0 to cuda:" + std::to_string(count - 1);
    return unusable(spec, "there is no such GPU; NVIDIA's driver shows " + last);
  }
  static std::mutex mutex;
  static auto& devices = *new std::map<int, std::shared_ptr<Device>>;  // as the backend: never destroyed
  const std::lock_guard lock(mutex);
  std::shared_ptr<Device>& device = devices[spec.index];
  if (!device) device = cuda::make_cuda_device(*backend, spec.index);
  return device;
}
#else
Result<std::shared_ptr<Device>> open_cuda_device(const DeviceSpec& spec) {
  return unusable(spec, "this build has no CUDA backend");
}
#endif

}  // namespace

Result<std::shared_ptr<Device>> open_device(const DeviceSpec& spec) {
  return spec.kind == DeviceKind::cpu ? std::shared_ptr<Device>(cpu_device()) : open_cuda_device(spec);
}

}  // namespace sheaf
