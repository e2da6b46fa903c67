#include "runtime/cuda/gpu_models.h"

#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

// clang-format off
constexpr GpuModel kModels[] = {
    // key       name                          sm  SMs  threads KiB  MiB     L2  MHz   memory  GB/s  f32    narrow  link host
    {"h200",    "NVIDIA H200",                 90, 132, 2048, 227, 143156, 60, 1980,  3201,  4800,  67.0,  989.4, 450,  64},
    {"h100",    "NVIDIA H100 80GB HBM3",       90, 132, 2048, 227,  81559, 50, 1980,  2619,  3350,  67.0,  989.4, 450,  64},
    {"b200",    "NVIDIA B200",                100, 148, 2048, 227, 183359, 126.5, 1965, 3996, 7672,  75.0, 2250.0, 900,  64},
    {"a100",    "NVIDIA A100-SXM4-80GB",       80, 108, 2048, 163,  81920, 40, 1410,  1593,  2039,  19.5,  312.0, 300,  32},
    {"l4",      "NVIDIA L4",                   89,  58, 1536,  99,  23034, 48, 2040,  6251,   300,  30.3,  121.0,  32,  32},
    {"rtx4090", "NVIDIA GeForce RTX 4090",     89, 128, 1536,  99,  24564, 72, 2520, 10501,  1008,  82.6,  165.2,  32,  32},
};
// clang-format on

constexpr double kMi = 1 << 20;

}  // namespace

std::span<const GpuModel> gpu_models() { return kModels; }

const GpuModel* find_gpu_model(std::string_view key) {
  const auto found =
      std::find_if(std::begin(kModels), std::end(kModels), [&](const GpuModel& model) { return model.key == key; });
  return found == std::end(kModels) ? nullptr : found;
}

DeviceProperties properties_of(const GpuModel& model) {
  DeviceProperties properties;
  properties.name = model.name;
  properties.major = model.compute_capability / 10;
  properties.minor = model.compute_capability % 10;
  properties.multiprocessors = model.multiprocessors;
  properties.memory_bytes = static_cast<int64_t>(model.memory_mib * kMi);
  properties.l2_bytes = static_cast<int>(model.l2_mib * kMi);
  properties.launches_together = true;
  return properties;
}

std::string properties_json(const GpuModel& model) {
  const Json json = {{"maxGridSize", {2147483647, 65535, 65535}},
                     {"maxBlockSize", {1024, 1024, 64}},
                     {"regsPerBlock", 65536},
                     {"multiProcessorCount", model.multiprocessors},
                     {"warpSize", 32},
                     {"maxSharedMemoryPerBlock", 49152},
                     {"maxSharedMemoryPerBlockOptin", model.shared_kib * 1024},
                     {"reservedSharedMemoryPerBlock", 1024},
                     {"maxRegistersPerSM", 65536},
                     {"maxCtasPerSM", model.threads == 2048 ? 32 : 24},
                     {"maxThreadsPerBlock", 1024},
                     {"maxThreadsPerSM", model.threads},
                     {"pciDeviceId", 0},
                     {"isTccDriver", 0},
                     {"supportCoopLaunch", 1},
                     {"totalGlobalMem", static_cast<int64_t>(model.memory_mib * kMi)},
                     {"smClockRateKHz", static_cast<int64_t>(model.clock_mhz * 1000)},
                     {"memClockRateKHz", static_cast<int64_t>(model.memory_clock_mhz * 1000)},
                     {"l2CacheSize", static_cast<int64_t>(model.l2_mib * kMi)},
                     {"cudaDeviceId", 0},
                     {"deviceVer", model.compute_capability * 10},
                     {"driverVer", 13000},
                     {"deviceName", model.name}};
  return json.dump();
}

DeviceDescription describe_gpu_model(const GpuModel& model, const GpuAssumptions& assumptions) {
  DeviceDescription gpu;
  gpu.known = true;
  gpu.model = model.name;
  gpu.flops_per_second = model.f32_tflops * 1e12 * assumptions.products;
  gpu.bf16_flops_per_second = model.narrow_tflops * 1e12 * assumptions.products;
  for (const Op op : {Op::conv, Op::conv_transpose, Op::conv_backward_data, Op::conv_backward_weight}) {
    gpu.operations[op] = model.f32_tflops * 1e12 * assumptions.convolutions;
    gpu.bf16_operations[op] = model.narrow_tflops * 1e12 * assumptions.convolutions;
  }
  const double memory = model.memory_gb_per_second * 1e9;
  gpu.bytes_per_second = gpu.core_bytes_per_second = memory * assumptions.memory;
  gpu.threads = double(model.multiprocessors) * model.threads;
  gpu.seconds_of_latency = assumptions.latency_seconds;
  gpu.seconds_per_operation = assumptions.launch_seconds;
  gpu.seconds_per_wait = assumptions.wait_seconds;
  gpu.copy_bytes_per_second = model.link_gb_per_second * 1e9;
  gpu.host_bytes_per_second = model.host_gb_per_second * 1e9 * assumptions.host_copy;
  gpu.memory_bytes = model.memory_mib * kMi;
  return gpu;
}

}  // namespace sheaf::cuda
