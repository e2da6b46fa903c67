#include "runtime/cuda/installation.h"

#include "runtime/cuda/nvidia_backend.h"
#include "runtime/cuda/vendor/driver_functions.h"
#include "runtime/cuda/vendor/nvml.h"

namespace sheaf::cuda {
namespace {

std::string three(size_t version, size_t major, size_t minor) {
  return std::to_string(version / major) + "." + std::to_string(version % major / minor) + "." +
         std::to_string(version % minor);
}

Installation::Library missing(const char* name, const Error& error) { return {name, "", "", error.message()}; }

Installation::Library look_at_cudnn() {
  auto library = SharedLibrary::open("cuDNN", {"libcudnn.so.9"});
  if (!library) return missing("cuDNN", library.error());
  size_t (*version)() = nullptr;
  if (auto found = Symbols(*library).require("cudnnGetVersion", version).result(); !found)
    return missing("cuDNN", found.error());
  return {"cuDNN", three(version(), 10000, 100), library->path(), ""};
}

Installation::Library look_at_cublaslt() {
  auto library = SharedLibrary::open("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"});
  if (!library) return missing("cuBLASLt", library.error());
  size_t (*version)() = nullptr;
  if (auto found = Symbols(*library).require("cublasLtGetVersion", version).result(); !found)
    return missing("cuBLASLt", found.error());
  return {"cuBLASLt", three(version(), 10000, 100), library->path(), ""};
}

Installation::Library look_at_nccl() {
  auto library = SharedLibrary::open("NCCL", {"libnccl.so.2"});
  if (!library) return missing("NCCL", library.error());
  int (*get_version)(int*) = nullptr;
  if (auto found = Symbols(*library).require("ncclGetVersion", get_version).result(); !found)
    return missing("NCCL", found.error());
  int version = 0;
  if (get_version(&version) != 0) return {"NCCL", "unknown", library->path(), ""};
  return {"NCCL", three(static_cast<size_t>(version), 10000, 100), library->path(), ""};
}

}  // namespace

Installation look_at_installation() {
  Installation found;
  if (auto driver = DriverFunctions::open()) {
    int version = 0;
    if (driver->cuDriverGetVersion(&version) == CUDA_SUCCESS) {
      found.cuda_version = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    }
  }
  auto nvml = Nvml::open();
  if (nvml) {
    found.driver_version = nvml->driver_version();
    found.libraries.push_back({"NVML", found.driver_version, nvml->library().path(), ""});
  } else {
    found.libraries.push_back(missing("NVML", nvml.error()));
  }
  auto backend = nvidia_backend();
  if (!backend) found.problem = backend.error().message();
  for (int i = 0; backend && i < (*backend)->driver().devices(); ++i) {
    Installation::Gpu gpu;
    gpu.properties = (*backend)->driver().properties(i);
    if (nvml) gpu.used_bytes = nvml->used_bytes(gpu.properties.pci_bus_id);
    found.gpus.push_back(std::move(gpu));
  }
  for (auto look : {look_at_cudnn, look_at_cublaslt, look_at_nccl}) found.libraries.push_back(look());
  return found;
}

}  // namespace sheaf::cuda
