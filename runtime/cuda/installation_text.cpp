#include "runtime/cuda/installation_text.h"

#include <cstdio>
#include <cstdlib>

namespace sheaf::cuda {
namespace {

std::string architecture(const DeviceProperties& gpu) { return "sm_" + std::to_string(gpu.major) + std::to_string(gpu.minor); }

std::string in_gib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

std::string name_of(size_t gpu) { return "cuda:" + std::to_string(gpu); }

}  // namespace

std::vector<std::pair<std::string, std::string>> visible_devices() {
  std::vector<std::pair<std::string, std::string>> found;
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MODULE_LOADING", "NVIDIA_TF32_OVERRIDE"}) {
    if (const char* value = std::getenv(name)) found.emplace_back(name, value);
  }
  return found;
}

Json to_json(const Installation& installation, const std::vector<std::pair<std::string, std::string>>& environment) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  Json devices = Json::array(), libraries = Json::array(), variables = Json::object();
  for (size_t i = 0; i < installation.gpus.size(); ++i) {
    const Installation::Gpu& gpu = installation.gpus[i];
    devices.push_back({{"name", name_of(i)},
                       {"model", gpu.properties.name},
                       {"isa", architecture(gpu.properties)},
                       {"multiprocessors", gpu.properties.multiprocessors},
                       {"memory_bytes", gpu.properties.memory_bytes},
                       {"memory_used_bytes", gpu.used_bytes ? Json(*gpu.used_bytes) : Json()},
                       {"pci_bus_id", gpu.properties.pci_bus_id}});
  }
  for (const Installation::Library& library : installation.libraries) {
    libraries.push_back({{"name", library.name},
                         {"version", text_or_null(library.version)},
                         {"path", text_or_null(library.path)},
                         {"problem", text_or_null(library.problem)}});
  }
  for (const auto& [name, value] : environment) variables[name] = value;
  return {{"available", !installation.gpus.empty()},
          {"reason", text_or_null(installation.problem)},
          {"driver_version", text_or_null(installation.driver_version)},
          {"cuda_version", text_or_null(installation.cuda_version)},
          {"devices", devices},
          {"libraries", libraries},
          {"environment", variables}};
}

std::string to_text(const Installation& installation, const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string text;
  const auto line = [&](const std::string& words) { text += (text.empty() ? "cuda  " : "      ") + words + "\n"; };
  if (installation.gpus.empty()) line("none: " + installation.problem);
  for (size_t i = 0; i < installation.gpus.size(); ++i) {
    const Installation::Gpu& gpu = installation.gpus[i];
    line(name_of(i) + "  " + gpu.properties.name + ", " + architecture(gpu.properties) + ", " +
         std::to_string(gpu.properties.multiprocessors) + " multiprocessors, " + in_gib(gpu.properties.memory_bytes) +
         (gpu.used_bytes ? ", " + in_gib(*gpu.used_bytes) + " in use" : "") + ", " + gpu.properties.pci_bus_id);
  }
  if (!installation.cuda_version.empty()) {
    line("driver " + (installation.driver_version.empty() ? "of unknown version" : installation.driver_version) +
         ", for CUDA up to " + installation.cuda_version);
  }
  for (const Installation::Library& library : installation.libraries) {
    const std::string from = library.path.empty() ? "" : " (" + library.path + ")";
    line(library.name + (library.problem.empty() ? " " + library.version + from : ": " + library.problem));
  }
  for (const auto& [name, value] : environment) line(name + "=" + value);
  return text;
}

}  // namespace sheaf::cuda
