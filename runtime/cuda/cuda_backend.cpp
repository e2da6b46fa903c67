#include "runtime/cuda/cuda_backend.h"

#include "runtime/cuda/gpu_models.h"
#include "runtime/cuda/installation_text.h"
#include "runtime/cuda/planned_device.h"

#ifdef SHEAF_CUDA_BACKEND
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/nvidia_backend.h"

#include <map>
#include <mutex>
#endif

namespace sheaf {
namespace {

#ifdef SHEAF_CUDA_BACKEND
Result<std::shared_ptr<Device>> open_gpu(int index) {
  SHEAF_ASSIGN(auto backend, cuda::nvidia_backend());
  const int count = backend->driver().devices();
  if (index >= count) {
    const std::string last = count == 1 ? "cuda:0 alone" : "cuda:0 to cuda:" + std::to_string(count - 1);
    return Error("there is no such GPU; NVIDIA's driver shows " + last);
  }
  static std::mutex mutex;
  static auto& devices = *new std::map<int, std::shared_ptr<Device>>;  // as the backend: never destroyed
  const std::lock_guard lock(mutex);
  std::shared_ptr<Device>& device = devices[index];
  if (!device) device = cuda::make_cuda_device(backend, index);
  return device;
}
#else
Result<std::shared_ptr<Device>> open_gpu(int) { return Error("this build has no CUDA backend"); }
#endif

DeviceListing list_gpus() {
  const cuda::Installation installation = cuda::look_at_installation();
  const auto environment = cuda::visible_devices();
  return {cuda::to_json(installation, environment), cuda::to_text(installation, environment)};
}

std::vector<std::string> models() {
  std::vector<std::string> keys;
  for (const cuda::GpuModel& model : cuda::gpu_models()) keys.emplace_back(model.key);
  return keys;
}

/// Without a model, of any graphics card: what a trace measures itself by if the driver's name for it is in no data sheet.
DeviceDescription describe_gpu(const std::string& model) {
  if (const cuda::GpuModel* known = cuda::find_gpu_model(model)) return cuda::describe_gpu_model(*known);
  DeviceDescription gpu;
  gpu.model = "a graphics card";
  gpu.flops_per_second = 50e12;
  gpu.bf16_flops_per_second =
      16 * gpu.flops_per_second;  // an A100's tensor cores do 312 Tflop/s, its f32 units 19.5 (data sheet)
  gpu.bytes_per_second = gpu.core_bytes_per_second = 1.5e12;
  gpu.cache_bytes = 32e6;
  gpu.cache_bytes_per_second = 4e12;
  gpu.seconds_per_operation = 5e-6;
  gpu.seconds_per_wait = 10e-6;
  gpu.copy_bytes_per_second = 25e9;
  gpu.memory_bytes = 80e9;
  return gpu;
}

}  // namespace

const DeviceBackend& cuda_backend() {
  static constexpr DeviceBackend backend = {"cuda", open_gpu, cuda::planned_device, list_gpus, describe_gpu, models};
  return backend;
}

}  // namespace sheaf
