// NVIDIA's management library, opened at run time: the source of nvidia-smi's figures.
#pragma once

#include "runtime/cuda/vendor/shared_library.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sheaf::cuda {

/// Its interface is declared here (nvml.h is not among CUDA's headers everywhere): docs.nvidia.com/deploy/nvml-api.
class Nvml {
 public:
  /// Errors: the library is missing, lacks a function, or cannot reach the driver.
  static Result<Nvml> open();
  const SharedLibrary& library() const { return library_; }
  /// "580.65.06"; empty if it doesn't say.
  std::string driver_version() const;
  /// Bytes of the GPU's memory in use by all processes. Nothing if the library doesn't say.
  std::optional<int64_t> used_bytes(const std::string& pci_bus_id) const;

 private:
  explicit Nvml(SharedLibrary library) : library_(std::move(library)) {}
  using Device = struct NvmlDevice*;
  struct Memory {  ///< nvmlMemory_t
    unsigned long long total = 0, free = 0, used = 0;
  };
  struct MemoryV2 {  ///< nvmlMemory_v2_t: `used` excludes what the driver reserves
    unsigned int version = sizeof(MemoryV2) | 2U << 24;
    unsigned long long total = 0, reserved = 0, free = 0, used = 0;
  };

  SharedLibrary library_;
  int (*init_)() = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*driver_version_)(char*, unsigned int) = nullptr;
  int (*handle_by_pci_bus_id_)(const char*, Device*) = nullptr;
  int (*memory_info_)(Device, Memory*) = nullptr;
  int (*memory_info_v2_)(Device, MemoryV2*) = nullptr;  ///< null before driver 510
};

}  // namespace sheaf::cuda
