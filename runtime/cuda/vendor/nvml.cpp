#include "runtime/cuda/vendor/nvml.h"

namespace sheaf::cuda {

Result<Nvml> Nvml::open() {
  SHEAF_ASSIGN(auto library, SharedLibrary::open("NVML", {"libnvidia-ml.so.1"}));
  Nvml nvml(std::move(library));
  Symbols symbols(nvml.library_);
  SHEAF_TRY(symbols.require("nvmlInit_v2", nvml.init_)
                .require("nvmlErrorString", nvml.error_string_)
                .require("nvmlSystemGetDriverVersion", nvml.driver_version_)
                .require("nvmlDeviceGetHandleByPciBusId_v2", nvml.handle_by_pci_bus_id_)
                .require("nvmlDeviceGetMemoryInfo", nvml.memory_info_)
                .optional("nvmlDeviceGetMemoryInfo_v2", nvml.memory_info_v2_)
                .result());
  if (const int code = nvml.init_(); code != 0) {
    const char* words = nvml.error_string_(code);
    return Error(std::string("nvmlInit: ") + (words ? words : "unknown error"));
  }
  return nvml;
}

std::string Nvml::driver_version() const {
  char text[96] = "";
  return driver_version_(text, sizeof text) == 0 ? text : "";
}

std::optional<int64_t> Nvml::used_bytes(const std::string& pci_bus_id) const {
  Device device = nullptr;
  if (handle_by_pci_bus_id_(pci_bus_id.c_str(), &device) != 0) return std::nullopt;
  if (MemoryV2 memory; memory_info_v2_ && memory_info_v2_(device, &memory) == 0) return static_cast<int64_t>(memory.used);
  if (Memory memory; memory_info_(device, &memory) == 0) return static_cast<int64_t>(memory.used);
  return std::nullopt;
}

}  // namespace sheaf::cuda
